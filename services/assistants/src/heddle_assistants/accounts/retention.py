"""The retention limits of organisations: the member `retention` of their settings."""

from collections.abc import Iterator, Mapping

from heddle.account.v1 import account_pb2 as pb

from heddle_assistants.accounts.resolution import retention_setting
from heddle_assistants.accounts.secret_members import Config

_MEMBERS = ("uploads_days", "images_days", "usage_days")
_MAX_DAYS = 36_500


def retention_problems(config: Config) -> Iterator[str]:
    """Yield the faults of the member."""
    setting = retention_setting(config)
    if not isinstance(setting, Mapping):
        yield "must be an object, such as {'uploads_days': 365}"
        return
    for name, value in setting.items():
        if name not in _MEMBERS:
            yield f"{name[:60]!r} is not one of {', '.join(_MEMBERS)}"
        elif not _is_valid(value):
            yield f"{name!r} must be a whole number from 1 to {_MAX_DAYS:,}"


def retention_of(slug: str, config: Config) -> pb.Retention | None:
    """Return the limits of an organisation, None if it has none that is valid."""
    setting = retention_setting(config)
    days = setting if isinstance(setting, Mapping) else {}
    valid = {name: int(days[name]) for name in _MEMBERS if _is_valid(days.get(name))}
    return pb.Retention(organization=slug, **valid) if valid else None


def _is_valid(value: object) -> bool:
    return type(value) is int and 1 <= value <= _MAX_DAYS
