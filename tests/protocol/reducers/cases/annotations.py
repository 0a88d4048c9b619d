from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.ANNOTATIONS

SPOT = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}}
ELSEWHERE = {"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 1}}


def entry(name, text):
    return {"id": name, "text": text}


def mark(name, *entries, **fields):
    return {
        "id": name,
        "resource": f"file:///{name}",
        "resolved": False,
        "entries": list(entries),
        **fields,
    }


def held(*marks):
    return {"annotations": list(marks)}


ONE, TWO = mark("m1", entry("e1", "one")), mark("m2", entry("e2", "two"), range=SPOT)

CASES = {
    "annotations/set: a new one goes to the end": (
        held(ONE),
        [{"type": "annotations/set", "annotation": TWO}],
        held(ONE, TWO),
    ),
    "annotations/set: set again it loses what it no longer says": (
        held(TWO, ONE),
        [{"type": "annotations/set", "annotation": mark("m2", entry("e9", "again"))}],
        held(mark("m2", entry("e9", "again")), ONE),
    ),
    "annotations/updated: moved and reopened, its entries kept": (
        held(mark("m1", entry("e1", "one"), resolved=True, _meta={"k": 1})),
        [
            {
                "type": "annotations/updated",
                "annotationId": "m1",
                "resource": "file:///elsewhere",
                "range": ELSEWHERE,
                "resolved": False,
                "origin": {"session": "s"},
            }
        ],
        held(
            mark(
                "m1",
                entry("e1", "one"),
                resource="file:///elsewhere",
                range=ELSEWHERE,
                origin={"session": "s"},
                _meta={"k": 1},
            )
        ),
    ),
    "annotations/updated: a range cannot be taken away": (
        held(TWO),
        [{"type": "annotations/updated", "annotationId": "m2", "range": None, "id": "m3"}],
        held(TWO),
    ),
    "annotations/removed: with every entry": (
        held(ONE, TWO),
        [
            {"type": "annotations/removed", "annotationId": "m1"},
            {"type": "annotations/removed", "annotationId": "m1"},
        ],
        held(TWO),
    ),
    "annotations/entrySet: added, and then said again": (
        held(ONE, TWO),
        [
            {"type": "annotations/entrySet", "annotationId": "m1", "entry": entry("e3", "three")},
            {"type": "annotations/entrySet", "annotationId": "m1", "entry": entry("e1", "uno")},
            {"type": "annotations/entrySet", "annotationId": "m9", "entry": entry("e1", "lost")},
        ],
        held(mark("m1", entry("e1", "uno"), entry("e3", "three")), TWO),
    ),
    "annotations/entryRemoved: one of them, and one that is not there": (
        held(mark("m1", entry("e1", "one"), entry("e3", "three"))),
        [
            {"type": "annotations/entryRemoved", "annotationId": "m1", "entryId": "e1"},
            {"type": "annotations/entryRemoved", "annotationId": "m1", "entryId": "e1"},
            {"type": "annotations/entryRemoved", "annotationId": "m7", "entryId": "e3"},
        ],
        held(mark("m1", entry("e3", "three"))),
    ),
}
