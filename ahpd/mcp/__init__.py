"""The Model Context Protocol, as far as this host serves it: a session's tools to a program."""
