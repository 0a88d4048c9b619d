"""Watching files: hints of what was touched, and an inventory that says what came of it."""
