"""Canvases: pages that plugins draw on chats."""

from ahpd.canvases.service import Canvases

__all__ = ["Canvases"]
