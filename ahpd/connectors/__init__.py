"""Connectors: what people make of adapters, kept, opened, checked and offered as tools."""
