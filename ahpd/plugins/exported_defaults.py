"""The options a module's exported `defaults` set, read off its source: a listing imports nothing."""

import ast
from pathlib import Path
from typing import Final

_NAME: Final = "defaults"


def exported_defaults(file: Path) -> frozenset[str] | None:
    """The keys of the `defaults` that a module exports; None where its source does not say which.

    Empty for a module that exports none, and for one that cannot be read.
    """
    try:
        module = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return frozenset()
    keys: frozenset[str] | None = frozenset()
    for statement in module.body:
        if _binds(statement):
            keys = _keys(getattr(statement, "value", None))
    return keys


def _binds(statement: ast.stmt) -> bool:
    """Whether a statement of a module may give `defaults` a value."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement.name == _NAME
    if isinstance(statement, ast.ImportFrom | ast.Import):
        return any((name.asname or name.name) in (_NAME, "*") for name in statement.names)
    return any(
        isinstance(node, ast.Name) and node.id == _NAME and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def _keys(value: ast.expr | None) -> frozenset[str] | None:
    if not isinstance(value, ast.Dict):
        return None
    keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
    if len(keys) != len(value.keys):
        return None
    return frozenset(key for key in keys if isinstance(key, str))
