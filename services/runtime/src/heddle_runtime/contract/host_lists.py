"""Lists of hosts in settings: `example.org *.example.org`, or `none`."""

import re
from collections.abc import Iterator

NO_HOST = "none"
WILDCARD = "*."
_MAX_HOST = 253
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_MAX_SHOWN = 80
_NO_NAME = (
    "is no host name: write names such as example.org, or *.example.org for all subdomains, "
    "without scheme, port and path, letters beyond ASCII as xn--bcher-kva.example"
)


def host_problems(text: str) -> Iterator[tuple[str, str]]:
    """Yield each wrong entry of a list of hosts, and what is wrong with it.

    Args:
        text: The entries, separated by white space.
    """
    entries = text.lower().split()
    for number, entry in enumerate(entries, 1):
        if problem := _problem(entry, alone=len(entries) == 1):
            yield entry, f"entry {number}, {entry[:_MAX_SHOWN]!r}, {problem}"


def _problem(entry: str, *, alone: bool) -> str:
    if entry == NO_HOST:
        return "" if alone else "stands for no host: remove it, or the other entries"
    host = entry.removeprefix(WILDCARD)
    return "" if len(host) <= _MAX_HOST and _HOST.fullmatch(host) else _NO_NAME
