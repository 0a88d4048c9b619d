"""The channel store: state per URI, one order of actions, replay, fan-out."""
