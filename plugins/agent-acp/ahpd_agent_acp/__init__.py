"""Agents that speak the Agent Client Protocol (ACP), each a program of its own."""
