"""Moments as the protocol writes them: ISO 8601, to the millisecond. Pure: no clock is read."""

from datetime import UTC, datetime, timedelta


def stamp(moment: datetime) -> str:
    """`moment` (aware) as it travels: `2026-10-04T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(timestamp: str) -> float | None:
    """The seconds since the epoch a timestamp names, or None for a string that is none."""
    try:
        return _read(timestamp).timestamp()
    except (ValueError, OverflowError):
        return None


def later(timestamp: str, milliseconds: float) -> str | None:
    """The moment `milliseconds` after `timestamp`, in UTC, to the millisecond, with a `Z`.

    What is finer than a millisecond is cut off. None for a string that is no timestamp,
    and for a moment outside the years 1 to 9999.
    """
    try:
        moment = _read(timestamp).astimezone(UTC)
        moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return stamp(moment + timedelta(milliseconds=int(milliseconds)))
    except (ValueError, OverflowError):
        return None


def _read(timestamp: str) -> datetime:
    """One that names no zone is in UTC. Raises `ValueError`."""
    moment = datetime.fromisoformat(timestamp)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
