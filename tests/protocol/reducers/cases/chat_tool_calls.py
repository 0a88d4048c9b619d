from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.CHAT

MCP = {"kind": "mcp", "customizationId": "m"}
CLIENT = {"kind": "client", "clientId": "w"}
RESULT = {"success": True, "pastTenseMessage": "Did"}
FAILED = {"success": False, "pastTenseMessage": "Gave up", "error": {"message": "no"}}
ONCE = {"id": "once", "label": "Once", "kind": "approve"}
NEVER = {"id": "never", "label": "Never", "kind": "deny"}
SHOWN = [{"type": "text", "text": "so far"}]
AUTH = {"reason": "required", "resource": {"resource": "https://mcp.example"}}


def call(status, **fields):
    held = {"status": status, "toolCallId": "k", "toolName": "run", "displayName": "Run", **fields}
    return {"kind": "toolCall", "toolCall": held}


def chat(*parts, status=8):
    return {
        "status": status,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
        "activeTurn": {
            "id": "t",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": "ask"},
            "responseParts": list(parts),
        },
    }


def does(what, **fields):
    return {"type": f"chat/toolCall{what}", "turnId": "t", "toolCallId": "k", **fields}


def running(**fields):
    return call("running", invocationMessage="Runs", confirmed="setting", **fields)


def asking(**fields):
    return call("pending-confirmation", invocationMessage="Runs", **fields)


CASES = {
    "chat/toolCallStart: input yet to come": (
        chat(),
        [
            does(
                "Start",
                toolName="run",
                displayName="Run",
                intention="To see",
                contributor=CLIENT,
                _meta={"toolKind": "terminal"},
            )
        ],
        chat(
            call(
                "streaming",
                intention="To see",
                contributor=CLIENT,
                _meta={"toolKind": "terminal"},
            )
        ),
    ),
    "chat/toolCallDelta: input, words and metadata, each where it is said": (
        chat(call("streaming", _meta={"k": 1})),
        [
            does("Delta", content='{"a"'),
            does("Delta", content=":1}", invocationMessage="Running"),
            does("Delta", _meta={"k": 2}),
            does("Delta", content="", turnId="other"),
        ],
        chat(
            call("streaming", partialInput='{"a":1}', invocationMessage="Running", _meta={"k": 2})
        ),
    ),
    "chat/toolCallDelta: a call whose input is whole": (
        chat(running()),
        [does("Delta", content="x")],
        chat(running()),
    ),
    "chat/toolCallReady: runs at once; the streamed input gives way to the parsed": (
        chat(call("streaming", partialInput="{", _meta={"k": 1})),
        [does("Ready", invocationMessage="Runs", toolInput="{}", confirmed="setting")],
        chat(running(toolInput="{}", _meta={"k": 1})),
    ),
    "chat/toolCallReady: asks first": (
        chat(call("streaming", invocationMessage="Thinks")),
        [
            does(
                "Ready",
                invocationMessage="Runs",
                confirmationTitle="Run?",
                editable=False,
                options=[ONCE, NEVER],
                edits={"items": []},
            )
        ],
        chat(
            asking(
                confirmationTitle="Run?", editable=False, options=[ONCE, NEVER], edits={"items": []}
            ),
            status=24,
        ),
    ),
    "chat/toolCallReady: asked again keeps what it had said": (
        chat(asking(toolInput="x", options=[ONCE], confirmationTitle="Run?"), status=24),
        [does("Ready", invocationMessage="Really?", options=[NEVER], _meta={"k": 2})],
        chat(
            call(
                "pending-confirmation",
                invocationMessage="Really?",
                toolInput="x",
                options=[NEVER],
                confirmationTitle="Run?",
                _meta={"k": 2},
            ),
            status=24,
        ),
    ),
    "chat/toolCallReady: a question answered elsewhere": (
        chat(asking(toolInput="x", options=[ONCE]), status=24),
        [does("Ready", invocationMessage="Runs", confirmed="setting")],
        chat(running(toolInput="x")),
    ),
    "chat/toolCallReady: a running call asks in the middle": (
        chat(running(toolInput="x", content=SHOWN, selectedOption=ONCE)),
        [does("Ready", invocationMessage="Also this?")],
        chat(
            call("pending-confirmation", invocationMessage="Also this?", toolInput="x"), status=24
        ),
    ),
    "chat/toolCallReady: one that waits for a sign-in, or is over": (
        chat(call("auth-required", auth=AUTH), status=24),
        [does("Ready", invocationMessage="Runs", confirmed="setting")],
        chat(call("auth-required", auth=AUTH), status=24),
    ),
    "chat/toolCallReady: an owner is said better, never made or changed": (
        chat(call("streaming", contributor=MCP)),
        [
            does("Ready", invocationMessage="Runs", confirmed="setting", contributor=CLIENT),
            does(
                "Ready",
                invocationMessage="Runs",
                confirmed="setting",
                contributor={"kind": "mcp", "customizationId": "other"},
            ),
        ],
        chat(running(contributor={"kind": "mcp", "customizationId": "other"})),
    ),
    "chat/toolCallReady: the same client may say more of itself": (
        chat(call("streaming", contributor=CLIENT, intention="i")),
        [
            does(
                "Ready",
                invocationMessage="Runs",
                confirmed="setting",
                intention="j",
                contributor={**CLIENT, "displayName": "Window"},
            ),
        ],
        chat(running(contributor={**CLIENT, "displayName": "Window"}, intention="j")),
    ),
    "chat/toolCallConfirmed: as the person edited it, by the option chosen": (
        chat(asking(toolInput="rm", options=[ONCE, NEVER]), status=24),
        [
            does(
                "Confirmed",
                approved=True,
                confirmed="setting",
                editedToolInput="ls",
                selectedOptionId="once",
            )
        ],
        chat(running(toolInput="ls", selectedOption=ONCE)),
    ),
    "chat/toolCallConfirmed: input kept elsewhere was not edited": (
        chat(asking(toolInput={"uri": "file:///i"}), status=24),
        [does("Confirmed", approved=True, confirmed="setting", editedToolInput="ls")],
        chat(running(toolInput={"uri": "file:///i"})),
    ),
    "chat/toolCallConfirmed: denied, with words": (
        chat(asking(toolInput="rm", options=[ONCE, NEVER], edits={"items": []}), status=24),
        [
            does(
                "Confirmed",
                approved=False,
                reason="denied",
                reasonMessage="Too much",
                userSuggestion={"text": "ls"},
                selectedOptionId="never",
                _meta={"k": 1},
            ),
            does("Confirmed", approved=True, confirmed="setting"),
        ],
        chat(
            call(
                "cancelled",
                invocationMessage="Runs",
                toolInput="rm",
                reason="denied",
                reasonMessage="Too much",
                userSuggestion={"text": "ls"},
                selectedOption=NEVER,
                _meta={"k": 1},
            )
        ),
    ),
    "chat/toolCallConfirmed: another call waits still": (
        chat(asking(), call("pending-confirmation", toolCallId="l"), status=24),
        [does("Confirmed", approved=True, confirmed="setting", selectedOptionId="once")],
        chat(running(), call("pending-confirmation", toolCallId="l"), status=24),
    ),
    "chat/toolCallComplete: the result over what it showed on the way": (
        chat(running(content=SHOWN, selectedOption=ONCE)),
        [does("Complete", result={**RESULT, "structuredContent": {"n": 1}, "error": None})],
        chat(
            call(
                "completed",
                invocationMessage="Runs",
                confirmed="setting",
                selectedOption=ONCE,
                structuredContent={"n": 1},
                **RESULT,
            )
        ),
    ),
    "chat/toolCallComplete: a result says nothing of the call itself": (
        chat(running()),
        [
            does(
                "Complete", result={**RESULT, "status": "running", "toolCallId": "z", "content": []}
            ),
            does("Complete", result=FAILED),
        ],
        chat(
            call("completed", invocationMessage="Runs", confirmed="setting", content=[], **RESULT)
        ),
    ),
    "chat/toolCallComplete: nobody was asked": (
        chat(asking(), status=24),
        [does("Complete", result=FAILED)],
        chat(call("completed", invocationMessage="Runs", confirmed="not-needed", **FAILED)),
    ),
    "chat/toolCallComplete: somebody is to look at it": (
        chat(running(content=SHOWN)),
        [does("Complete", result=RESULT, requiresResultConfirmation=True)],
        chat(
            call(
                "pending-result-confirmation",
                invocationMessage="Runs",
                confirmed="setting",
                **RESULT,
            ),
            status=24,
        ),
    ),
    "chat/toolCallComplete: a sign-in given up keeps what there was": (
        chat(
            call(
                "auth-required",
                invocationMessage="Runs",
                confirmed="setting",
                contributor=MCP,
                content=SHOWN,
                auth=AUTH,
            ),
            status=24,
        ),
        [
            does("Complete", result=RESULT),
            does("Complete", result=FAILED, requiresResultConfirmation=True),
        ],
        chat(
            call(
                "completed",
                invocationMessage="Runs",
                confirmed="setting",
                contributor=MCP,
                content=SHOWN,
                **FAILED,
            )
        ),
    ),
    "chat/toolCallResultConfirmed: approved as it is": (
        chat(running(selectedOption=ONCE)),
        [
            does("Complete", result={**RESULT, "content": SHOWN}, requiresResultConfirmation=True),
            does("ResultConfirmed", approved=True, _meta={"k": 1}),
        ],
        chat(
            call(
                "completed",
                invocationMessage="Runs",
                confirmed="setting",
                selectedOption=ONCE,
                content=SHOWN,
                _meta={"k": 1},
                **RESULT,
            )
        ),
    ),
    "chat/toolCallResultConfirmed: denied, the result is gone": (
        chat(running(selectedOption=ONCE, toolInput="x")),
        [
            does("ResultConfirmed", approved=False),
            does("Complete", result={**RESULT, "content": SHOWN}, requiresResultConfirmation=True),
            does("ResultConfirmed", approved=False),
        ],
        chat(
            call(
                "cancelled",
                invocationMessage="Runs",
                toolInput="x",
                selectedOption=ONCE,
                reason="result-denied",
            )
        ),
    ),
    "chat/toolCallContentChanged: the list as a whole, while it runs": (
        chat(running(content=SHOWN)),
        [
            does("ContentChanged", content=[], _meta={"progressMessage": "p"}),
            does("ContentChanged", content=SHOWN, toolCallId="other"),
        ],
        chat(running(content=[], _meta={"progressMessage": "p"})),
    ),
    "chat/toolCallContentChanged: not before": (
        chat(asking(), status=24),
        [does("ContentChanged", content=SHOWN)],
        chat(asking(), status=24),
    ),
    "chat/toolCallAuthRequired: a server's call stops where it is": (
        chat(running(contributor=MCP, content=SHOWN)),
        [does("AuthRequired", auth=AUTH)],
        chat(
            call(
                "auth-required",
                invocationMessage="Runs",
                confirmed="setting",
                contributor=MCP,
                content=SHOWN,
                auth=AUTH,
            ),
            status=24,
        ),
    ),
    "chat/toolCallAuthRequired: nobody else's": (
        chat(running(contributor=CLIENT)),
        [does("AuthRequired", auth=AUTH)],
        chat(running(contributor=CLIENT)),
    ),
    "chat/toolCallAuthResolved: and goes on from there": (
        chat(running(contributor=MCP, content=SHOWN, selectedOption=ONCE)),
        [
            does("AuthResolved"),
            does("AuthRequired", auth=AUTH),
            does("AuthResolved", _meta={"k": 1}),
        ],
        chat(running(contributor=MCP, content=SHOWN, selectedOption=ONCE, _meta={"k": 1})),
    ),
}
