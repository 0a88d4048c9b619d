"""Chats: one conversation each, its turns, its queue and what its clients may do to it."""
