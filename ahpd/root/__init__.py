"""The root channel: which agents there are, how many sessions run, the host's settings."""
