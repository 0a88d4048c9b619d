"""Child processes: each in a session of its own, gone with what it started when its owner is."""
