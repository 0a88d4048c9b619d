"""The commands, one module per family: a service is called, its answer is shaped."""
