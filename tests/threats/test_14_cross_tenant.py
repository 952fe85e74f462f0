"""Threat 14: a user reaches what belongs to another user or another organisation.

Every route and every RPC that takes an identifier is called. The operations come from the running
gateway's `/openapi.json` and from the descriptors of all contracts. `integration/access/rest.py`
and `integration/access/rpcs.py` say what each answers to whom.
"""

import re
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.permissions import has
from heddle_runtime.rpc.interceptor import right_of
from integration.access import rest, rpcs
from integration.access.deployments import (
    CALLERS,
    FORMS,
    OPERATOR,
    Deployment,
    Form,
    Role,
    deployed,
)
from integration.access.deployments import rpcs as all_rpcs
from integration.access.outcomes import Outcome, fault
from integration.access.things import TYPES, Absent, Things
from runtime.examples import repetitions, sampled

_CODES = {
    grpc.StatusCode.INVALID_ARGUMENT: "400",
    grpc.StatusCode.NOT_FOUND: "404",
    grpc.StatusCode.PERMISSION_DENIED: "403",
    grpc.StatusCode.UNAUTHENTICATED: "401",
    grpc.StatusCode.FAILED_PRECONDITION: "failed",
}
_STATUSES = {"201": "200", "502": "failed"}
_READING = re.compile(r"GET |\w+\.(Get|List|Search|Resolve|Describe|Query|Find|Embed|Run|Assess)")
OPERATIONS = [*rest.ROUTES, *rpcs.RPCS][:: 1 if repetitions(4) > 1 else 8]
"""All, or each eighth with `make test`."""
_ABSENT = ("404", "failed")
_MISSING: dict[Outcome, Collection[str]] = {
    "404": TYPES,
    "failed": TYPES,
    "404 of the file": ("file",),
}
"""The types of things that do not exist, as far as an answer of this kind shows."""
_PRIVATE: set[Role] = {"owner", "other user", "admin", "operator"}
Answer = tuple[str, str]
"""The status and the text of a response."""


class Matrix:
    """Calls every operation as every caller, and collects what is not as the tables say."""

    def __init__(self, heddle: Deployment) -> None:
        self._heddle = heddle
        self._clients = {role: heddle.rest(caller) for role, caller in CALLERS.items()}
        self._private = Things(heddle, shared=False)
        self._shared = Things(heddle, shared=True)
        self.faults: list[str] = []

    def check(self, name: str) -> None:
        """Call one operation as every caller."""
        outcomes = (rest.ROUTES | rpcs.RPCS)[name].outcomes
        both = (self._private, self._shared)
        for things in both:
            self._prepare(name, things)
        before = [] if _READING.match(name) else [things.state() for things in both]
        for role, expected in outcomes.items():
            try:
                problem = self._problem(name, role, expected)
            except Exception as error:  # noqa: BLE001 - the others still count
                problem = f"{type(error).__name__}: {str(error)[:300]}"
            if problem:
                self.faults.append(f"{name}, {role}: {problem}")
        if before and [things.state() for things in both] != before:
            self.faults.append(f"{name}: a call that was refused changed something")

    def _problem(self, name: str, role: Role, expected: Outcome) -> str:
        private = role in _PRIVATE
        things = self._private if private else self._shared
        if expected.startswith("200") and _READING.match(name) is None:
            things = Things(self._heddle, shared=not private)  # it may be gone afterwards
            self._prepare(name, things)
        status, text = self._answer(name, role, things)
        if status != expected.split(" ")[0]:
            return f"expected {expected}, got {status}: {text[:300]}"
        if problem := fault(expected, text + _joined(text), things.content, things.prompt):
            return f"{problem}: {text[:300]}"
        if types := _MISSING.get(expected):
            absent = Absent(things, types)
            if problem := self._difference(name, role, absent, text):
                return problem
        return ""

    def _difference(self, name: str, role: Role, absent: Absent, text: str) -> str:
        """Return how the answer differs from the one about something that does not exist."""
        status, other = self._answer(name, role, absent)
        # First: a request id may contain the digits of an identifier.
        text, other = _neutral(text), _neutral(other)
        for identifier, missing in absent.identifiers.items():
            text = text.replace(identifier, "ID")
            other = other.replace(missing, "ID")
        if status in _ABSENT and other == text:
            return ""
        return f"it differs from what is missing: {text[:300]} / {status} {other[:300]}"

    def _prepare(self, name: str, things: Things) -> None:
        """Create what the operation is about."""
        if name in rest.ROUTES:
            rest.ROUTES[name].request(things)
        else:
            rpcs.RPCS[name].fields(things)

    def _answer(self, name: str, role: Role, things: Any) -> Answer:
        if name in rest.ROUTES:
            response = rest.send(self._clients[role], name, rest.ROUTES[name], things)
            status = str(response.status_code)
            return _STATUSES.get(status, status), response.text
        try:
            fields = rpcs.RPCS[name].fields(things)
            responses = self._heddle.ask(name.partition(" ")[0], CALLERS[role], **fields)
        except grpc.RpcError as error:
            known = from_rpc(error)  # type: ignore[arg-type] # it has the methods of an asynchronous one
            text = f"{known.reason} {known.message} {known.violations} {known.metadata}"
            return _CODES.get(error.code(), error.code().name), text
        return "200", "\n".join(map(str, responses))


def _joined(text: str) -> str:
    """Return the pieces of a streamed answer, in one text."""
    pieces = re.finditer(r'"content":"(?P<chunk>[^"]*)"|text: "(?P<event>[^"]*)"', text)
    return "".join(piece["chunk"] or piece["event"] or "" for piece in pieces)


def _neutral(text: str) -> str:
    return re.sub(r"req_[0-9a-f]{24}", "REQUEST", text)


@pytest_asyncio.fixture
async def heddle(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Deployment]:
    """Heddle in the form that the test names, with an organisation."""
    form: Form = request.param
    async with deployed(form, tmp_path) as running:
        for slug in ("uni", "college"):
            running.ask("Account.PutOrganization", OPERATOR, organization={"slug": slug})
            email = CALLERS["owner" if slug == "uni" else "other organisation"]
            assert email is not None
            running.ask("Account.PutUser", OPERATOR, email=email.subject, organization=slug)
        yield running


@pytest.mark.timeout(900)
@pytest.mark.parametrize("heddle", sampled(FORMS, 1), indirect=True)
async def test_each_caller_gets_what_the_tables_say(heddle: Deployment) -> None:
    document = heddle.rest(None).get("/openapi.json").json()
    assert missing_routes(document) == []
    assert missing_rpcs() == []
    matrix = Matrix(heddle)
    for name in OPERATIONS:
        matrix.check(name)
    assert not matrix.faults, "\n".join(matrix.faults)


def test_the_tables_refuse_every_role_that_lacks_the_right_of_a_method() -> None:
    differences = []
    for name, rpc in rpcs.RPCS.items():
        method = all_rpcs()[name.partition(" ")[0]]
        right = right_of(f"/{method.containing_service.full_name}/{method.name}")
        for role, outcome in rpc.outcomes.items():
            caller = CALLERS[role]
            if right is None or caller is None:
                continue
            if (outcome != "403" and not has(caller, right)) or (role, outcome) == ("owner", "403"):
                differences.append(f"{name}, {role}: {outcome}, right {right}")
    assert not differences, "\n".join(differences)


def missing_routes(document: dict[str, Any]) -> list[str]:
    """Return what is wrong with the table of routes."""
    routes = {f"{verb.upper()} {path}" for path, it in document["paths"].items() for verb in it}
    known = {" ".join(name.split(" ")[:2]) for name in rest.ROUTES} | rest.NO_IDENTIFIER
    return _missing(routes, known, "rest.py", "ROUTES")


def missing_rpcs() -> list[str]:
    """Return what is wrong with the table of RPCs."""
    known = {name.partition(" ")[0] for name in rpcs.RPCS} | rpcs.NO_IDENTIFIER
    return _missing(set(all_rpcs()), known, "rpcs.py", "RPCS")


def _missing(operations: set[str], known: set[str], file: str, table: str) -> list[str]:
    return [
        f"{name}: say in {table} of tests/integration/access/{file} what it answers to whom, or "
        "add it to NO_IDENTIFIER there"
        for name in sorted(operations - known)
    ] + [f"{name} does not exist any more: remove it from {file}" for name in known - operations]
