"""Tunnels: records of kinds that plugins register."""
