"""What is kept of sessions while they run, and how they are read back."""
