"""Tokens that clients lend for the resources this host advertised."""
