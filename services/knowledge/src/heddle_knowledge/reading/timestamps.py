"""Times as rows keep them: whole microseconds since 1970, in UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(time: datetime) -> int:
    """Return a time with a zone as microseconds, the form of rows."""
    return (time - _EPOCH) // _MICROSECOND


def timestamp(microseconds_since_epoch: int) -> datetime:
    """Return the time that a row keeps, in UTC."""
    return _EPOCH + microseconds_since_epoch * _MICROSECOND
