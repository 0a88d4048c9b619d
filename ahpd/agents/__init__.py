"""Helpers for agent backends, and the demo agent."""
