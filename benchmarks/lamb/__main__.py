"""`python -m benchmarks.lamb FOLDER`: routes of LAMB's frontend at LAMB and through Heddle.

Each route is called at both, once. Routes that change something name what does not exist, or have
an empty body. A route passes if the status, the type of the content, the address of a redirection,
and the members that the frontend reads are as from LAMB; Heddle may have more members.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from benchmarks.lamb.frontend import called, filled, members_read, source_text

_SECONDS = 60.0
_AT_ONCE = 6
_CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Answer:
    """What counts of a response."""

    status: int
    kind: str
    location: str
    members: frozenset[str]

    def serves(self, lamb: "Answer") -> bool:
        """Return whether clients of LAMB get from this answer what they read in LAMB's."""
        return replace(self, members=lamb.members) == lamb and lamb.members <= self.members


def main() -> int:
    """Print the routes that differ, and how many pass."""
    options = _options()
    contract = httpx.get(f"{options.lamb}/openapi.json", timeout=_SECONDS).json()
    sources = source_text(options.folder)
    routes = list(called(contract, sources))
    if options.list:
        sys.stdout.write("".join(f"{method} {path}\n" for method, path in routes))
        return 0
    _token(options)
    passed = 0

    def both(route: tuple[str, str]) -> list[Answer]:
        return [_answer(options, base, *route, sources) for base in _servers(options)]

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for (method, path), (lamb, heddle) in zip(routes, threads.map(both, routes), strict=True):
            if heddle.serves(lamb):
                passed += 1
            else:
                sys.stdout.write(f"{method} {path}\n  LAMB   {lamb}\n  Heddle {heddle}\n")
    sys.stdout.write(f"{passed} of {len(routes)} routes passed\n")
    return passed != len(routes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a checkout of LAMB")
    parser.add_argument("--lamb", default="http://127.0.0.1:9099", help="the address of LAMB")
    parser.add_argument("--heddle", default="http://127.0.0.1:8080", help="that of Heddle")
    parser.add_argument("--email", help="an administrator of LAMB")
    parser.add_argument("--password")
    parser.add_argument("--key", default="", help="LAMB_BEARER_TOKEN, for answers of assistants")
    parser.add_argument("--assistant", default="1", help="the number of one of the assistants")
    parser.add_argument("--list", action="store_true", help="list the routes, and call none")
    return parser.parse_args()


def _servers(options: argparse.Namespace) -> Iterator[str]:
    yield options.lamb.rstrip("/")
    yield options.heddle.rstrip("/")


_tokens: dict[str, str] = {}


def _token(options: argparse.Namespace) -> str:
    if options.email not in _tokens:
        form = {"email": options.email, "password": options.password}
        login = httpx.post(f"{options.lamb}/creator/login", data=form, timeout=_SECONDS)
        _tokens[options.email] = login.json()["data"]["token"]
    return _tokens[options.email]


def _answer(options: argparse.Namespace, base: str, method: str, path: str, sources: str) -> Answer:
    key, body = _token(options), dict[str, Any]()
    if path == _CHAT:  # an empty request is refused in the form of each server
        key = options.key
        message = {"role": "user", "content": "Hello."}
        body = {"model": f"lamb_assistant.{options.assistant}", "messages": [message]}
    values = {"assistant_id": options.assistant, "slug": "lamb", "lang": "en"}
    target = filled(path, values, exists=method == "GET")
    response = httpx.request(
        method,
        base + target,
        headers={"Authorization": f"Bearer {key}"},
        timeout=_SECONDS,
        json=None if method == "GET" else body,
    )
    kind = response.headers.get("content-type", "").partition(";")[0]
    read = members_read(response.json(), sources) if kind == "application/json" else set[str]()
    if response.is_error:
        read &= {"detail"}
    location = response.headers.get("location", "").removeprefix(base)
    return Answer(response.status_code, kind, location, frozenset(read))


if __name__ == "__main__":
    sys.exit(main())
