from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.CHANGESET

ERROR = {"errorType": "git", "message": "no repository"}


def file(name, added=1, **fields):
    return {"id": name, "edit": {"diff": {"added": added}}, **fields}


def operation(name, status="idle", **fields):
    return {"id": name, "label": name, "scopes": ["changeset"], "status": status, **fields}


def held(*files, status="ready", **fields):
    return {"status": status, "files": list(files), **fields}


CASES = {
    "changeset/statusChanged: to an error and away from it": (
        held(status="computing"),
        [
            {"type": "changeset/statusChanged", "status": "error", "error": ERROR},
            {"type": "changeset/statusChanged", "status": "recomputing"},
        ],
        held(status="recomputing"),
    ),
    "changeset/statusChanged: an error stays while the status is one": (
        held(status="computing"),
        [{"type": "changeset/statusChanged", "status": "error", "error": ERROR}],
        held(status="error", error=ERROR),
    ),
    "changeset/fileSet: added and set again": (
        held(file("a"), file("b", reviewed=True)),
        [
            {"type": "changeset/fileSet", "file": file("c")},
            {"type": "changeset/fileSet", "file": file("b", 9)},
        ],
        held(file("a"), file("b", 9), file("c")),
    ),
    "changeset/fileRemoved: by its id": (
        held(file("a"), file("b")),
        [
            {"type": "changeset/fileRemoved", "fileId": "a"},
            {"type": "changeset/fileRemoved", "fileId": "none"},
        ],
        held(file("b")),
    ),
    "changeset/filesReviewChanged: those that are here": (
        held(file("a"), file("b", reviewed=True), file("c", reviewed=True, _meta={"k": 1})),
        [
            {"type": "changeset/filesReviewChanged", "files": ["a", "x"], "reviewed": True},
            {"type": "changeset/filesReviewChanged", "files": ["c"], "reviewed": False},
        ],
        held(
            file("a", reviewed=True),
            file("b", reviewed=True),
            file("c", reviewed=False, _meta={"k": 1}),
        ),
    ),
    "changeset/contentChanged: files always, operations where they are said": (
        held(file("a"), operations=[operation("commit")]),
        [{"type": "changeset/contentChanged", "files": [file("z")]}],
        held(file("z"), operations=[operation("commit")]),
    ),
    "changeset/contentChanged: both": (
        held(file("a"), operations=[operation("commit")]),
        [{"type": "changeset/contentChanged", "files": [], "operations": []}],
        held(operations=[]),
    ),
    "changeset/operationsChanged: another list": (
        held(operations=[operation("commit")]),
        [{"type": "changeset/operationsChanged", "operations": [operation("push")]}],
        held(operations=[operation("push")]),
    ),
    "changeset/operationsChanged: none at all": (
        held(operations=[operation("commit")]),
        [{"type": "changeset/operationsChanged"}],
        held(),
    ),
    "changeset/operationStatusChanged: one of them fails": (
        held(operations=[operation("commit"), operation("push", "running")]),
        [
            {
                "type": "changeset/operationStatusChanged",
                "operationId": "push",
                "status": "error",
                "error": ERROR,
            }
        ],
        held(operations=[operation("commit"), operation("push", "error", error=ERROR)]),
    ),
    "changeset/operationStatusChanged: and recovers; an unknown one does not matter": (
        held(operations=[operation("push", "error", error=ERROR)]),
        [
            {
                "type": "changeset/operationStatusChanged",
                "operationId": "push",
                "status": "idle",
                "error": ERROR,
            },
            {
                "type": "changeset/operationStatusChanged",
                "operationId": "x",
                "status": "running",
            },
        ],
        held(operations=[operation("push")]),
    ),
    "changeset/operationStatusChanged: with no operations": (
        held(),
        [{"type": "changeset/operationStatusChanged", "operationId": "x", "status": "idle"}],
        held(),
    ),
    "changeset/cleared: the files, not the rest": (
        held(file("a"), operations=[operation("commit")]),
        [{"type": "changeset/cleared"}],
        held(operations=[operation("commit")]),
    ),
}
