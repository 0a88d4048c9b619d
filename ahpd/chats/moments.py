"""Moments as the protocol writes them: ISO 8601 in UTC with milliseconds and `Z`."""

from datetime import UTC, datetime


def stamp(moment: datetime) -> str:
    """`moment` (aware) as it travels: `2026-10-04T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(text: str) -> float | None:
    """The seconds since the epoch a written moment names, or None when it names none.

    One written without an offset is read as UTC.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None
