"""One connection's side of the protocol: its handshake, its requests, what it is sent."""
