"""Reading query parameters, each with a complaint that names it."""

from collections.abc import Collection

from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_gateway.http.raw import RawRequest

_LONGEST = 10  # digits; no bound here has more


def whole(exchange: RawRequest, name: str, default: int, *, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`; `default` if the query has none."""
    given = exchange.query(name)
    if given is None:
        return default
    plain = given.isascii() and given.isdecimal() and len(given) <= _LONGEST
    if not plain or not low <= int(given) <= high:
        raise wrong(name, f"must be a whole number from {low} to {high}")
    return int(given)


def choice(exchange: RawRequest, name: str, among: Collection[str]) -> str:
    """Return one of `among`; an empty string if the query has none."""
    given = exchange.query(name)
    if given is None:
        return ""
    if given not in among:
        raise wrong(name, f"must be one of {', '.join(among)}")
    return given


def text(exchange: RawRequest, name: str) -> str:
    """Return any text; an empty string if the query has none."""
    return exchange.query(name) or ""


def wrong(name: str, what: str) -> InvalidRequestError:
    """Return the error that says what is wrong with a query parameter."""
    return InvalidRequestError(f"The query parameter {name!r} {what}.", [Violation(name, what)])
