"""Agents as records: from what the configuration says, over engines, to the agents of a host."""
