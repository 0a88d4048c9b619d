"""The vault: secrets by name, kept for this user alone."""
