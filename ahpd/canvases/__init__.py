"""Canvases: pages that plugins draw on chats."""
