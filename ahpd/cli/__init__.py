"""The `ahpd` command: one module for each thing it does."""
