"""Attachments: what comes with a message, kept as files and made ready for a backend."""
