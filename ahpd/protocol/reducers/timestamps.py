"""The arithmetic of the protocol's ISO 8601 timestamps. Pure: no clock is read."""

from datetime import UTC, datetime, timedelta


def later(timestamp: str, milliseconds: float) -> str | None:
    """The moment `milliseconds` after `timestamp`, in UTC, to the millisecond, with a `Z`.

    A timestamp that names no zone is in UTC. What is finer than a millisecond is cut
    off. None for a string that is no timestamp, and for a moment outside the years 1
    to 9999.
    """
    try:
        moment = datetime.fromisoformat(timestamp)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        moment += timedelta(milliseconds=int(milliseconds))
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
