"""A canvas, which one action replaces whole."""

from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.CANVAS

OLD = {"instanceId": "i", "extensionId": "e", "canvasId": "c", "url": "http://127.0.0.1:1/"}
NEW = {"instanceId": "i", "extensionId": "e", "canvasId": "c", "title": "Preview"}

CASES = {
    "canvas/stateChanged: what the new one does not say is gone": (
        OLD,
        [{"type": "canvas/stateChanged", "canvas": NEW}],
        NEW,
    ),
}
