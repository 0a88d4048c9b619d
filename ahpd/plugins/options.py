"""The options a plugin's `apply` is handed: configured over defaults, held to the schema.

Source: PLUGINS.txt, "Declaring the options".
"""

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from ahpd.interfaces.vault import ISecrets
from ahpd.plugins.exported_defaults import exported_defaults
from ahpd.plugins.found import Found
from ahpd.plugins.option_references import references_in, refusal, resolved
from ahpd.plugins.skipped import Skipped
from ahpd.schemas.checking import check_value, unknown_keys
from ahpd.schemas.documents import plain
from ahpd.schemas.failures import BrokenSchema, Misfit


async def resolved_options(
    found: Found,
    secrets: ISecrets,
    environ: Mapping[str, str],
    read: list[str] | None = None,
) -> dict[str, Any]:
    """The configured options with what they name in place of its names; see `resolved`."""
    schema = found.manifest.options_schema
    return await resolved(found.entry.options, schema, found.id, secrets, environ, read)


def ready_options(
    found: Found, defaults: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """What `apply` is handed, and what to warn of, a line each.

    `given` lies over `defaults`, which the module exports, and they over what the schema says
    is a property's default: whole values, by key. The result is the plugin's own copy, whose
    fields marked `secretAtUse` alone cannot be written to. Raises `Skipped`.
    """
    schema, plugin = found.manifest.options_schema, found.id
    merged = {
        **manifest_defaults(schema),
        **(deepcopy(dict(defaults)) if defaults else {}),
        **given,
    }
    if schema is None:
        return merged, []
    at = f"plugins.{plugin}.options"
    references = references_in(schema, merged)
    for reference in references:
        if not reference.at_use:  # nothing reads what a default names
            raise Skipped(
                f"{at}.{reference.words} names a value, and its field is not marked secretAtUse",
                plugin,
                found=found,
            )
    try:
        check_value(schema, merged, at, references=bool(references))
    except BrokenSchema as broken:
        why = str(broken)
    except Misfit as misfit:
        why = _default_at_fault(found, defaults, given) or str(misfit)
    else:
        return merged, _unknown(found, merged)
    raise Skipped(why, plugin, found=found)


def unknown_options(found: Found) -> list[str]:
    """What is set and the schema knows nothing of, a line each; it is passed through."""
    return _unknown(found, found.entry.options)


def _unknown(found: Found, options: Mapping[str, Any]) -> list[str]:
    return [
        f"plugins.{found.id}.options.{key} is not an option {found.id} knows; passed through"
        for key in unknown_keys(found.manifest.options_schema, options)
    ]


def _default_at_fault(
    found: Found, exported: Mapping[str, Any], given: Mapping[str, Any]
) -> str | None:
    """Whose default does not fit where nobody set the option; None for what somebody set."""
    theirs = {key: value for key, value in exported.items() if key not in given}
    return _misfit(found, theirs, f"{found.file}: the value in defaults") or _wrong_default(
        found, {*exported, *given}
    )


def wrong_default(found: Found) -> str | None:
    """What is wrong with a default of the manifest's that nobody's value stands in place of, as far
    as that is known without running anything; None for nothing."""
    held = {*found.entry.options}
    if _wrong_default(found, held) is None:
        return None
    exported = exported_defaults(found.file)
    return None if exported is None else _wrong_default(found, held | exported)


def _wrong_default(found: Found, held: Collection[str]) -> str | None:
    said = manifest_defaults(found.manifest.options_schema)
    left = {key: value for key, value in said.items() if key not in held}
    return _misfit(found, left, f"{found.manifest.place}: the default in optionsSchema.properties")


def _misfit(found: Found, values: Mapping[str, Any], at: str) -> str | None:
    schema = found.manifest.options_schema
    if schema is None or not values:
        return None
    try:
        check_value(of_keys(schema), dict(values), at, references=True)
    except Misfit as misfit:
        return str(misfit)
    return None


def manifest_defaults(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the schema of a plugin's options says each is where nobody sets it."""
    return {key: plain(default) for key, default in _defaults(schema)}


def _defaults(schema: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    properties: Mapping[str, Any] = {} if schema is None else schema.get("properties", {})
    for key, said in properties.items():
        if isinstance(said, Mapping) and "default" in said:
            yield key, said["default"]


def unfitting_option(found: Found) -> str | None:
    """What is wrong with the options that are set, as far as it can be told without reading what
    they name; None for nothing. What is not set is `unset_options`'."""
    schema = found.manifest.options_schema
    at = f"plugins.{found.id}.options"
    for reference in references_in(schema, dict(found.entry.options)):
        if why := refusal(reference):
            return f"{at}.{reference.words}{why}"
    if schema is None:
        return None
    try:
        check_value(of_keys(schema), dict(found.entry.options), at, references=True)
    except Misfit as misfit:
        return str(misfit)
    return None


#: What of a schema says what one key of its object may be.
_OF_KEYS: Final = (
    "$defs", "definitions", "properties", "patternProperties", "additionalProperties",
)  # fmt: skip


def of_keys(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema says of each key alone: what an object needs besides is not asked of one."""
    return {"type": "object", **{key: schema[key] for key in _OF_KEYS if key in schema}}


def unset_options(found: Found) -> list[str]:
    """The options that must be set and are not, in the schema's order; a listing's question.

    What the module's own `defaults` set counts, and where its source does not say what that is,
    nothing is known to be missing.
    """
    schema = found.manifest.options_schema
    if schema is None:
        return []
    held = {key for key, _ in _defaults(schema)} | found.entry.options.keys()
    unset = [key for key in schema.get("required", ()) if key not in held]
    exported = exported_defaults(found.file) if unset else frozenset()
    return [] if exported is None else [key for key in unset if key not in exported]
