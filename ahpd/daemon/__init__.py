"""The process around a host: its log, its signals, its record, and its service manager."""
