"""The public test kit: clients that judge a host, scripted agents, and contracts to check."""
