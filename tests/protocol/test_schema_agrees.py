"""The declared shapes and tables say what the protocol's own schema and tables say.

Both schemas are brought to one form first: only names both sides have stay references,
unions are flat and sorted, and what is there for readers is dropped. Where this host
means to differ, the difference is written down here with its reason and is made to the
protocol's side before the two are compared; one that is not needed any more fails.
"""

import copy
import json

import pytest

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.jsonschema import NONEXHAUSTIVE, document
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS
from ahpd.protocol.shapes import every_shape, shape
from ahpd.protocol.shapes.reading import discriminator, is_object, members_of, tags_of

STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}
OPEN_MAP = {"type": "object", "additionalProperties": True}


def with_property(name, schema):
    return lambda it: it["properties"].__setitem__(name, schema)


def with_open_keys(it):
    it["additionalProperties"] = True


def without_required(it):
    it.pop("required")


def with_ids_of_both_kinds(*more):
    return with_property("id", {"anyOf": [STRING, {"type": "number"}, *more]})


def with_tool_schemas(it):
    tool_schema = {
        "type": "object",
        "properties": {
            "type": {"const": "object"},
            "properties": OPEN_MAP,
            "required": {"type": "array", "items": STRING},
        },
        "required": ["type"],
        "additionalProperties": True,
    }
    for key in ("inputSchema", "outputSchema"):
        it["properties"][key] = copy.deepcopy(tool_schema)


def with_cleared_activity(it):
    changes = it["properties"]["changes"]["properties"]
    changes["activity"] = {"anyOf": [STRING, {"type": "null"}]}


def with_partial_provider(it):
    it["properties"]["changes"]["properties"]["provider"] = STRING


def with_chat_configuration(it):
    it["anyOf"].append(
        {
            "type": "object",
            "properties": {
                "type": {"const": "chat/configChanged"},
                "config": OPEN_MAP,
                "replace": BOOLEAN,
            },
            "required": ["type", "config"],
            "additionalProperties": False,
        }
    )


def with_authentication_target(it):
    it["properties"]["target"] = {
        "type": "object",
        "properties": {"kind": STRING},
        "required": ["kind"],
        "additionalProperties": True,
    }


#: (definition, what is changed in the protocol's, why).
DIFFERENCES = [
    ("ConfigPropertySchema", with_open_keys, "it is JSON Schema, whose other keywords are in use"),
    ("SessionConfigPropertySchema", with_open_keys, "it is JSON Schema"),
    (
        "SessionConfigPropertySchema",
        with_property("chatMutable", BOOLEAN),
        "a property a chat may set says so",
    ),
    ("ConfigSchema", with_open_keys, "it is JSON Schema"),
    ("SessionConfigSchema", with_open_keys, "it is JSON Schema"),
    ("ToolDefinition", with_tool_schemas, "a tool's schemas are JSON Schema"),
    ("CreateChatParams", with_property("title", STRING), "the reference window names chats"),
    ("CreateChatParams", with_property("provider", STRING), "read, to be refused in words"),
    ("AuthenticateParams", with_authentication_target, "a token for one MCP server"),
    ("ChatSummary", with_property("provider", STRING), "a chat on another agent than its session"),
    ("ChatState", with_property("provider", STRING), "a chat on another agent than its session"),
    ("SessionChatUpdatedAction", with_partial_provider, "what a row has, its partial has"),
    ("ChatState", with_property("config", OPEN_MAP), "the values a chat set for itself"),
    ("SessionChatSummary", with_property("archived", BOOLEAN), "what a client of 0.9 reads"),
    ("SessionSummaryChangedParams", with_cleared_activity, "null clears the activity of a row"),
    ("ChatInputRequest", with_property("_meta", OPEN_MAP), "says whose question it is"),
    ("SessionActiveClient", without_required, "one without tools or an id is taken as sent"),
    ("JsonRpcRequest", with_ids_of_both_kinds(), "JSON-RPC ids may be strings"),
    ("JsonRpcSuccessResponse", with_ids_of_both_kinds(), "JSON-RPC ids may be strings"),
    (
        "JsonRpcErrorResponse",
        with_ids_of_both_kinds({"type": "null"}),
        "an unreadable request is answered with an id of null",
    ),
    ("StateAction", with_chat_configuration, "the reference window's action"),
]

#: Names of the protocol's schema no shape here has, and what has their place.
NOT_DECLARED = {
    "messages as a whole, which the peer reads": (
        ["Request.", "Response.", "Notification."],
        ["ProtocolMessage", "JsonRpcResponse"]
        + [
            f"Ahp{name}"
            for name in (
                "ClientNotification",
                "ErrorResponse",
                "Notification",
                "Request",
                "ServerNotification",
                "ServerRequest",
                "SuccessResponse",
            )
        ],
    ),
    "errors, which are ahpd.protocol.errors and rpc.ERROR_DATA": (
        [],
        ["AhpError", "AhpErrorCode", "JsonRpcErrorCode"],
    ),
    "groups of actions, which ACTIONS has by kind and sender": (
        [],
        ["ActionType"]
        + [
            f"{sender}{channel}Action"
            for sender in ("", "Client", "Server")
            for channel in (
                "Annotations",
                "Automation",
                "AutomationRun",
                "Canvas",
                "Changeset",
                "Chat",
                "ResourceWatch",
                "Root",
                "Session",
                "Terminal",
            )
        ],
    ),
    "words that only tell the members of a union apart": (
        [],
        [
            "AutomationDisableConditionKind",
            "AutomationRunOriginKind",
            "AutomationRunStatus",
            "AutomationTriggerKind",
            "BackgroundWorkKind",
            "ChangesetOperationTargetKind",
            "ChatInputAnswerState",
            "ChatInputAnswerValueKind",
            "ChatInputQuestionKind",
            "ChatMoveDestinationKind",
            "ChatOriginKind",
            "ChatSourceKind",
            "CustomizationEnablementKind",
            "CustomizationLoadStatus",
            "CustomizationType",
            "McpServerStatus",
            "MessageAttachmentKind",
            "ReconnectResultType",
            "ResponsePartKind",
            "SessionInputRequestKind",
            "SessionOriginKind",
            "TerminalClaimKind",
            "TerminalLifecycleStatus",
            "ToolCallContributorKind",
            "ToolCallRiskAssessmentStatus",
            "ToolCallStatus",
            "ToolResultContentType",
        ],
    ),
    "a string": ([], ["URI"]),
}


@pytest.fixture(scope="module")
def theirs(protocol_folder):
    return json.loads((protocol_folder / "ahp-1.0.0.schema.json").read_text())["$defs"]


@pytest.fixture(scope="module")
def ours():
    return document()["$defs"]


@pytest.fixture(scope="module")
def methods(protocol_folder):
    return json.loads((protocol_folder / "methods.json").read_text())


def is_closed_or_open_object(schema):
    return schema.get("type") == "object" and ("properties" in schema or not schema.get("anyOf"))


class OneForm:
    """Brings the definitions of one document to the form they are compared in."""

    def __init__(self, defs, shared_names):
        self.defs = defs
        self.shared = shared_names

    def of(self, schema):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            target = self.defs[name]
            if name in self.shared and is_closed_or_open_object(target):
                return {"$ref": name}
            return self.of(target)
        if "anyOf" in schema:
            return self.union(schema["anyOf"])
        if len(schema.get("enum", ())) == 1:
            return {"const": schema["enum"][0]}
        if "enum" in schema:
            found = {"enum": sorted(schema["enum"], key=repr)}
            return found | ({NONEXHAUSTIVE: True} if schema.get(NONEXHAUSTIVE) else {})
        if schema.get("type") == "object":
            return self.object(schema)
        found = {
            key: schema[key]
            for key in ("type", "const", "minimum", "not", "allOf")
            if key in schema
        }
        if "items" in schema:
            found["items"] = self.of(schema["items"])
        return found

    def object(self, schema):
        extra = schema.get("additionalProperties", True)
        return {
            "type": "object",
            "properties": {
                name: self.of(value) for name, value in schema.get("properties", {}).items()
            },
            "required": sorted(schema.get("required", [])),
            "additionalProperties": self.of(extra) or True if isinstance(extra, dict) else extra,
        }

    def union(self, members):
        flat = []
        for member in members:
            found = self.of(member)
            flat += found["anyOf"] if set(found) == {"anyOf"} else [found]
        flat.sort(key=lambda it: json.dumps(it, sort_keys=True))
        return {"anyOf": flat} if len(flat) > 1 else flat[0]


def one_form(defs, shared_names, name):
    form = OneForm(defs, shared_names)
    schema = defs[name]
    if is_closed_or_open_object(schema):
        return form.object(schema)
    return form.of(schema)


def test_each_shape_is_the_protocols_own_but_for_the_listed_differences(theirs, ours):
    corrected = copy.deepcopy(theirs)
    for name, change, _why in DIFFERENCES:
        change(corrected[name])
    shared = set(theirs) & set(ours)
    assert len(shared) > 300
    wrong = {
        name: (one_form(corrected, shared, name), one_form(ours, shared, name))
        for name in sorted(shared)
        if one_form(corrected, shared, name) != one_form(ours, shared, name)
    }
    assert wrong == {}


@pytest.mark.parametrize("index", range(len(DIFFERENCES)), ids=lambda i: DIFFERENCES[i][0])
def test_each_listed_difference_is_one(theirs, ours, index):
    corrected = copy.deepcopy(theirs)
    for name, change, _why in DIFFERENCES[:index] + DIFFERENCES[index + 1 :]:
        change(corrected[name])
    shared = set(theirs) & set(ours)
    name, _, why = DIFFERENCES[index]
    assert one_form(corrected, shared, name) != one_form(ours, shared, name), why


def test_each_name_of_the_protocol_is_declared_or_accounted_for(theirs, ours):
    prefixes = tuple(prefix for found, _ in NOT_DECLARED.values() for prefix in found)
    names = {name for _, found in NOT_DECLARED.values() for name in found}
    undeclared = {name for name in set(theirs) - set(ours) if not name.startswith(prefixes)}
    assert undeclared - names == set()
    assert {name for name in names if name in ours} == set()


def test_a_union_may_grow_exactly_where_the_protocol_lets_its_kinds_grow(theirs):
    """The words of a discriminator are an enumeration of their own, flagged or not."""
    enumerations = {
        frozenset(schema["enum"]): bool(schema.get(NONEXHAUSTIVE))
        for schema in theirs.values()
        if "enum" in schema
    }
    container_kinds = enumerations[frozenset(theirs["CustomizationType"]["enum"])]
    seen = 0
    for name, declared in every_shape().items():
        members, is_open = members_of(declared)
        shapes = [member for member in members if is_object(member)]
        if name not in theirs or is_object(declared) or not shapes:
            continue
        key = discriminator(shapes)
        if key is None:
            continue
        kinds = frozenset(value for each in shapes for value in tags_of(each)[key])
        if name in ("Customization", "ChildCustomization"):
            expected = container_kinds  # each takes some of one enumeration's words
        else:
            # A union whose words are no enumeration of the protocol has no flag to be open by.
            expected = enumerations.get(kinds, False)
        assert is_open is expected, (name, kinds)
        seen += 1
    assert seen > 20


def test_the_table_of_actions_is_the_protocols_and_one_extension(methods):
    found = {
        spec.type: {
            "def": spec.declared_at.partition(".")[2],
            "introducedIn": spec.introduced_in,
            "clientDispatchable": spec.client_dispatchable,
        }
        for spec in ACTIONS.values()
        if not spec.extension
    }
    assert found == methods["actions"]
    assert [spec.type for spec in ACTIONS.values() if spec.extension] == ["chat/configChanged"]


def test_the_table_of_commands_is_the_protocols(methods):
    found = {
        spec.name: {
            "direction": spec.direction,
            "paramsDef": spec.params_declared_at.partition(".")[2],
            "resultDef": spec.result_declared_at and spec.result_declared_at.partition(".")[2],
            "channel": spec.channel,
        }
        for spec in COMMANDS.values()
    }
    assert found == methods["commands"]


def test_the_table_of_notifications_is_the_protocols(methods):
    found = {
        spec.name: {
            "direction": spec.direction,
            "paramsDef": spec.params_declared_at.partition(".")[2],
            "channel": None,
            "introducedIn": spec.introduced_in,
        }
        for spec in NOTIFICATIONS.values()
    }
    assert found == methods["notifications"]


def test_the_state_of_each_kind_of_channel_is_one_a_snapshot_may_hold():
    states, _ = members_of(shape("envelopes.Snapshot").__annotations__["state"])
    assert set(shape("envelopes.STATES").values()) == set(states)
