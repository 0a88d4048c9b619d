"""The operator's document: what is read of it, and what stops the start."""

import pytest

from ahpd.permissions import ManagedPermissions, parse_managed


def test_an_empty_document_manages_nothing():
    assert parse_managed({}) == ManagedPermissions()


def test_a_document_is_read_and_kept_to_be_handed_on():
    document = {
        "deny": ["Shell(rm *)", "Write(/etc/**)", "Edit(~/x)", "Domain"],
        "ask": ["Shell(*)", "Read", "Domain(*.example.com)"],
        "disableBypassPermissionsMode": "disable",
        "limitTo": ["Domain(example.com)", "Domain"],
    }
    read = parse_managed(document)
    assert [(rule.family, rule.argument) for rule in read.deny] == [
        ("Shell", "rm *"), ("Edit", "/etc/**"), ("Edit", "~/x"), ("Domain", None),
    ]  # fmt: skip
    assert [(rule.family, rule.argument) for rule in read.ask] == [
        ("Shell", None), ("Read", None), ("Domain", "*.example.com"),
    ]  # fmt: skip
    assert (read.bypass_disabled, read.limit_to, read.document) == (
        True,
        ("example.com", "*"),
        document,
    )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "managedSettingsPermissions: found []"),
        ({"allow": []}, "managedSettingsPermissions.allow"),
        ({"deny": "Shell"}, "managedSettingsPermissions.deny: found 'Shell'"),
        ({"deny": ["Shell", 3]}, r"managedSettingsPermissions.deny\[1\]: found 3"),
        ({"ask": ["Bash(rm)"]}, r"managedSettingsPermissions.ask\[0\]: 'Bash\(rm\)'"),
        ({"deny": ["WebFetch(a.com)"]}, "no rule of the managed grammar"),
        ({"deny": ["Shell(rm"]}, "no rule of the managed grammar"),
        ({"deny": ["Shell(a) "]}, "no rule of the managed grammar"),
        ({"deny": ["Shell(a(b))"]}, "no rule of the managed grammar"),
        ({"deny": ["Shell(a\nb)"]}, "no rule of the managed grammar"),
        ({"deny": ["Shell()"]}, "is about nothing"),
        ({"deny": ["Shell( *)"]}, "names no command"),
        ({"deny": ["Read(!/a)"]}, "negates"),
        ({"deny": ["Read(/{a)"]}, "nobody can read"),
        ({"deny": ["Write(a/../b)"]}, "nobody can read"),
        ({"deny": ["Domain(*)"]}, "Domain alone is every host"),
        ({"deny": ["Domain(${x}.com)"]}, "a shell would replace"),
        ({"deny": ["Domain(https://)"]}, "names no host"),
        ({"limitTo": "Domain"}, "limitTo: found 'Domain'"),
        ({"limitTo": ["Domain(Example.com)"]}, r"limitTo\[0\]: found 'Domain\(Example.com\)'"),
        ({"limitTo": ["Domain(example.com:80)"]}, "limitTo"),
        ({"limitTo": ["Domain(*)"]}, "limitTo"),
        ({"limitTo": ["Shell"]}, "limitTo"),
        ({"disableBypassPermissionsMode": True}, "disableBypassPermissionsMode: found True"),
    ],
)
def test_one_rule_that_cannot_be_read_stops_the_start(document, words):
    with pytest.raises(ValueError, match=words.replace("[]", r"\[\]")):
        parse_managed(document)
