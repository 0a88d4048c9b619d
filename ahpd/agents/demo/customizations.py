"""What the demo agent shows as its customizations: a prompt and a skill, each a directive."""

from ahpd.protocol import State


def customizations() -> list[State]:
    """Containers with one child each (schema: DirectoryCustomization)."""
    return [
        _directory("prompt", "Prompts", "hello", "Greets whoever is named"),
        _directory("skill", "Skills", "help", "Tells what each directive of the demo agent does"),
    ]


def _directory(kind: str, name: str, child: str, description: str) -> State:
    folder = f"ahpd-demo:/{kind}s"
    return {
        "type": "directory",
        "id": f"demo:{kind}s",
        "uri": folder,
        "name": name,
        "enabled": True,
        "contents": kind,
        "writable": False,
        "children": [
            {
                "type": kind,
                "id": f"demo:{kind}:{child}",
                "uri": f"{folder}/{child}",
                "name": child,
                "description": description,
            }
        ],
    }
