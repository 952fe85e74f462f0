"""Whose rights a call has: the assistant's owner needs a grant, or is the caller."""

import pytest
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.tool.v1.tool_pb2 import RunContext
from heddle_runtime.errors import PermissionDeniedError, UnauthenticatedError
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import DEVELOPER, Identity
from heddle_runtime.identity.grants import Grant, GrantSigner

SECRET = "a-secret-of-at-least-32-characters"
ANA = Identity("ana@uni.example", "uni", ("creator",))
BEA = Identity("bea@uni.example", "uni", ("creator",))
LEARNER = Identity("leo@uni.example", "uni")
OWNERS = AssistantOwners(SECRET, "run_tools")
OF_ANA = Assistant(id="1", owner=ANA.subject, organization="uni")


def owner(caller: Identity, assistant: Assistant = OF_ANA, grant: str = "") -> tuple[str, str]:
    """Return the owner and the organisation that count."""
    CALLER.set(Caller("", caller))
    checked = OWNERS.checked(RunContext(assistant=assistant), grant).assistant
    assert checked.id == assistant.id
    return checked.owner, checked.organization


def grant(caller: Identity, of: Grant, secret: str = SECRET) -> str:
    """Return a grant for a caller."""
    CALLER.set(Caller("", caller))
    return GrantSigner(secret).sign(of, 10)


@pytest.mark.parametrize(
    "caller",
    [ANA, DEVELOPER, Identity("root", "", ("admin",)), Identity("gateway", "", ("service",))],
)
def test_some_callers_need_no_grant(caller: Identity) -> None:
    assert owner(caller) == (ANA.subject, "uni")


@pytest.mark.parametrize(
    "caller",
    [
        BEA,
        Identity(ANA.subject, "college", ("creator",)),
        Identity("chair", "uni", ("organization_admin",)),
    ],
)
def test_an_owner_named_in_a_request_counts_for_nothing(caller: Identity) -> None:
    assert owner(caller) == (caller.subject, caller.organization)
    assert owner(caller, Assistant()) == (caller.subject, caller.organization)


def test_a_member_uses_tools_only_as_part_of_an_answer() -> None:
    token = grant(LEARNER, Grant(ANA.subject, "uni"))
    assert owner(LEARNER, grant=token) == (ANA.subject, "uni")
    for other in (OF_ANA, Assistant(owner=LEARNER.subject, organization="uni")):
        with pytest.raises(PermissionDeniedError, match="run_tools"):
            owner(LEARNER, other, "" if other is OF_ANA else token)


def test_a_grant_counts_for_its_owner_and_its_caller() -> None:
    token = grant(BEA, Grant(ANA.subject, "uni"))
    assert owner(BEA, grant=token) == (ANA.subject, "uni")
    assert owner(BEA, Assistant(owner="eva", organization="uni"), token) == (BEA.subject, "uni")
    assert owner(BEA, Assistant(), grant(BEA, Grant("", ""))) == ("", "")
    for stolen in (grant(ANA, Grant("eva", "uni")), grant(BEA, Grant("eva", "uni"), "f" * 32), "x"):
        with pytest.raises(UnauthenticatedError):
            owner(BEA, grant=stolen)
