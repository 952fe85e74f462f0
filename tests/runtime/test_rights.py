"""The rights of roles: what contracts name, and whom the wrappers of handlers refuse."""

from typing import Any

import pytest
from heddle.call.v1 import call_pb2
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import (
    LEAST_ROLES,
    ROLES,
    Right,
    Role,
    has,
    require,
    scopes_of,
)
from heddle_runtime.rpc.interceptor import permitted, right_of
from integration.access.deployments import rpcs

ANN = "ann@uni.example"
CALLERS: dict[Role, Identity] = {
    "member": Identity(ANN, "uni", scopes_of("member")),
    "creator": Identity(ANN, "uni", scopes_of("creator")),
    "admin": Identity(ANN, "uni", scopes_of("admin")),
    "operator": Identity(ANN, "uni", ("admin",)),
}
WITHOUT = {
    **dict.fromkeys(
        ("Account.PutOrganization", "Account.PutUser", "Account.DeleteUser"),
        "the service asks for an administrator of the organisation that the call names",
    ),
    **dict.fromkeys(
        ("Usage.PutPrices", "Usage.ResetUsage"),
        "the service asks for an administrator of the organisation that the call names",
    ),
    **dict.fromkeys(
        ("Person.ErasePersonalData", "Tool.InspectMcpServer", "Connector.CheckProvider"),
        "the service asks for an administrator of the organisation that the call names",
    ),
    **dict.fromkeys(
        ("Account.RevokeKey", "Account.SetPassword", "File.DeleteFile"),
        "every user may, for what is its own",
    ),
    **dict.fromkeys(
        ("Assistant.GetAssistant", "Row.GetRow", "Record.GetRecord"),
        "it reads, and may store a row in its newest format",
    ),
    **dict.fromkeys(
        ("Orchestrator.RunCompletion", "Orchestrator.RunWholeCompletion"),
        "every user may ask; an assistant that is not stored needs manage_assistants",
    ),
    **dict.fromkeys(
        ("Tool.ExecuteTool", "Tool.ExecuteTools"),
        "part of an answer; without the orchestrator's grant it needs run_tools",
    ),
    **dict.fromkeys(
        ("Connector.GenerateMessage", "Connector.GenerateWholeMessage"), "part of an answer"
    ),
}
"""Methods that change something and name no right, with the reason."""
SERVICES_ONLY = (
    *(
        "Account.SignIn",
        "Account.CreateFirstOperator",
        "Account.SignInWithProvider",
        "Account.ResolveSession",
    ),
    *("Account.SwitchSession", "Account.EndSession", "Following.", "Job.", "RowBatch."),
    *("Migration.", "Audit.RecordAuditEvents", "Usage.RecordUsage", "Usage.ReserveUsage"),
    *("Assistant.UseConfirmation", "Batch.ClaimBatch", "Account.PutExtensionText"),
)
"""Methods of services and of the operator."""


def test_contracts_and_the_table_have_the_same_rights() -> None:
    names = [name.removeprefix("RIGHT_").lower() for name in call_pb2.Right.keys()]  # noqa: SIM118 - no mapping
    assert names[1:] == list(LEAST_ROLES)


def test_each_method_that_changes_something_names_a_right() -> None:
    silent = {
        name
        for name, method in rpcs().items()
        if method.GetOptions().idempotency_level != 1  # NO_SIDE_EFFECTS
        and right_of(f"/{method.containing_service.full_name}/{method.name}") is None
        and not name.startswith(SERVICES_ONLY)
    }
    assert silent == set(WITHOUT)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_its_rights_and_those_of_the_roles_before(role: Role) -> None:
    caller = CALLERS[role]
    for right, least in LEAST_ROLES.items():
        expected = ROLES.index(role) >= ROLES.index(least)
        assert has(caller, right) is expected
        if not expected:
            with pytest.raises(PermissionDeniedError, match=f"{role}.*{right}.*{least}"):
                require(caller, right)


@pytest.mark.parametrize(
    ("method", "right"),
    [
        ("/heddle.assistant.v1.AssistantService/CreateAssistant", "manage_assistants"),
        ("/heddle.account.v1.AccountService/CreateKey", "manage_own_keys"),
        ("/heddle.assistant.v1.AssistantService/ListAssistants", None),
        ("/grpc.health.v1.Health/Nothing", None),
    ],
)
def test_a_handler_is_called_only_for_callers_with_the_right(
    method: str, right: Right | None
) -> None:
    calls = []

    def handler(request: Any, context: Any) -> None:
        calls.append((request, context))

    assert right_of(method) == right
    checked = permitted(method, handler)
    for caller in CALLERS.values():
        token = CALLER.set(Caller("r", caller))
        try:
            if right is None or has(caller, right):
                checked("request", "context")
            else:
                with pytest.raises(PermissionDeniedError):
                    checked("request", "context")
        finally:
            CALLER.reset(token)
    assert len(calls) == sum(right is None or has(each, right) for each in CALLERS.values())
