"""Terminals: programs on pseudo-terminals, each a channel that clients watch and type into."""
