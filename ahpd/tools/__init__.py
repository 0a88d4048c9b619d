"""The host's own tools: what a session's model may call that this host runs itself."""
