"""Plugins: found, checked, loaded, folded into the host, and taken out again."""
