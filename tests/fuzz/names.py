"""What the rig has and has not, by its URI: channels, files, and what is hardly a name at all."""

from ahpd.interfaces import WatchRequest
from ahpd.protocol.uris import AUTOMATIONS, AUTOMATIONS_WITH_AUTHORITY, ROOT, default_chat
from ahpd.watches.names import channel_of

ONE, TWO, GONE, HEALTHY = (f"ahp-session:/{name}" for name in ("one", "two", "gone", "healthy"))
EXTRA = "ahp-chat:/extra"
SHELL, TOOL = "ahp-terminal:/shell", "ahp-terminal:/tool"

#: Files there are and files there are not: see `fence`. What is under a client's scheme is
#: asked of that client, who is one of the rude ones, the healthy one, or not there.
FILES = [
    "file:///fuzz",
    "file:///fuzz/text",
    "file:///fuzz/text",
    "file:///fuzz/bytes",
    "file:///fuzz/deep",
    "file:///fuzz/deep/er",
    "file:///fuzz/deep/link",
    "file:///fuzz/deep/link/x",
    "file:///fuzz/new",
    "file:///fuzz/new/more",
    "file:///fuzz/%FF",
    "vscode-agent-client://fuzz-1/mem/-/a",
    "vscode-agent-client://healthy/file/-/a",
    "vscode-agent-client://nobody/file/-/a",
    "vscode-agent-client://fuzz-1/untitled!/-/U",
    "vscode-agent-client://crowd-1/mem/-/a",
    "notes:/x",
]

#: Channels of watches, as the host names them.
WATCHES = [
    channel_of(WatchRequest(root="file:///fuzz", recursive=True)),
    channel_of(WatchRequest(root="file:///fuzz/deep", includes=["**/*.py"])),
    channel_of(WatchRequest(root="vscode-agent-client://fuzz-1/mem/-/a")),
    channel_of(WatchRequest(root="vscode-agent-client://crowd-1/mem/-/a", recursive=True)),
    channel_of(WatchRequest(root="file:///elsewhere")),
]
#: What a rude client answers that its own watch is.
RUDE_WATCH = "ahp-resource-watch:/rude"

#: Channels of each kind that the rig has, and ones it has not.
CHANNELS = [
    ROOT,
    ONE,
    TWO,
    GONE,
    EXTRA,
    "ahp-chat:/id-2",
    "ahp-chat:/id-3",
    f"{ONE}/annotations",
    f"{TWO}/annotations",
    f"{GONE}/annotations",
    "ahp-session:/never",
    "ahp-session:/new",
    "scripted:/one",
    "scripted:/new-too",
    "ahp-chat:/never",
    "ahp-chat:/fresh",
    default_chat(ONE),
    default_chat(GONE),
    default_chat("ahp-session:/never"),
    f"{ONE}/changeset/uncommitted",
    SHELL,
    TOOL,
    "ahp-terminal:/t",
    "agenthost-terminal:///1",
    "ahp-canvas:/c",
    AUTOMATIONS,
    AUTOMATIONS_WITH_AUTHORITY,
    "ahp-automation-run:/r",
    "ahp-resource-watch:/w",
    *WATCHES,
    "ahp-otlp:/logs",
]

#: Of those, by kind, the ones that are there or may come to be.
HOMES = {
    "root": [ROOT],
    "session": [ONE, TWO, "ahp-session:/new", "scripted:/new-too", "scripted:/one"],
    "chat": ["ahp-chat:/id-2", "ahp-chat:/id-3", EXTRA, "ahp-chat:/fresh", default_chat(ONE)],
    "annotations": [f"{ONE}/annotations", f"{TWO}/annotations"],
    "terminal": [SHELL, TOOL, "ahp-terminal:/new", "agenthost-terminal:///1"],
    "resourceWatch": WATCHES,
}

#: What is hardly a channel, or only by its spelling.
ODD_URIS = [
    "",
    " ",
    "/",
    ":",
    "://",
    "one",
    "ahp-session:",
    "ahp-session:/",
    "ahp-session://",
    "ahp-session:///one",
    "AHP-SESSION:/one",
    "ahp-session:/%6Fne",
    "ahp-session:/o%",
    "ahp-session:/%ff%fe",
    "ahp-session:/%00",
    "ahp-session:/one\x00",
    "ahp-session:/one\r\nSet-Cookie: x",
    "ahp-session:/one?x=1#y",
    "ahp-session:/one/",
    "ahp-session:/../one",
    "ahp-session:/annotations",
    "ahp-session:/one/annotations/annotations",
    "ahp-session:/one/changeset/",
    "ahp-session:/one/changeset/a/annotations",
    "ahp-session:/\U0001f600",
    "ahp-session:/" + "x" * 5000,
    "y" * 5000 + ":/one",
    "ahp-chat:",
    "ahp-chat:/",
    "ahp-chat://default/",
    "ahp-chat://default/A",
    "ahp-chat://default/____",
    "ahp-chat://default/" + "QUJD" * 2000,
    default_chat(default_chat(ONE)),
    default_chat(""),
    "ahp-root:",
    "ahp-root:/",
    "ahp-root:///",
    "ahp-root://elsewhere",
    "file:///etc/passwd",
    "ahp-terminal:",
    "ahp-terminal:/",
    "ahp-terminal:/\x1b[2J",
    "ahp-resource-watch://r/",
    "ahp-resource-watch://r/e30",
    "ahp-resource-watch://r/" + "eyJ" * 3000,
    "vscode-agent-client:",
    "vscode-agent-client://",
    "vscode-agent-client://healthy",
    "vscode-agent-client://healthy/file",
    "vscode-agent-client://healthy/vscode-agent-client/healthy/file/-/x",
    "vscode-agent-client://%00/file/-/x",
    "file://elsewhere/x",
    "file:///fuzz/" + "x" * 300,
    "file:///fuzz/" + "y/" * 3000,
    "file:///fuzz/%00",
    "file:///fuzz/../../etc/passwd",
    "file:///fuzz/a?b#c",
    "javascript:alert(1)",
    "1a:/x",
]
