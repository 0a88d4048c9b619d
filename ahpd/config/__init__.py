"""Settings: one declaration for flags, file keys, their checks and their documentation."""
