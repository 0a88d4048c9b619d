"""Sessions: the catalogue, what a session is, and what its clients may do to it."""
