"""placeholder replaced by the shapes work"""


def introduced_in(action_type: str) -> str | None:
    return None
