"""Completions: what a message may name while it is typed, and values a setting may take."""
