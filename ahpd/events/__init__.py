"""Events: what happens, told to plugins in order."""
