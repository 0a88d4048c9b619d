from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.RESOURCE_WATCH

WATCH = {"root": "file:///w", "recursive": True, "excludes": {"items": ["*.log"]}}

CASES = {
    "resourceWatch/changed: no history is kept": (
        WATCH,
        [
            {
                "type": "resourceWatch/changed",
                "changes": {"items": [{"uri": "file:///w/a", "type": "deleted"}]},
            }
        ],
        WATCH,
    ),
}
