"""Trees of files, with the standard library alone: a search runs this in a process of its own."""
