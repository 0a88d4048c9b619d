"""Channels and commands under `x-` names, and the operations of their rows."""
