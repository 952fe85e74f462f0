"""Texts that no row can hold, where accounts are asked for: nobody's, and no failure of ours."""

from contextlib import suppress

import pytest
from assistants.accounts.conftest import ADMIN, SERVICE, Accounts
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.paging import write_token
from heddle_runtime.errors import InvalidRequestError, NotFoundError

REQUESTS = [
    ("GetOrganization", pb.GetOrganizationRequest(slug="uni\0")),
    ("ListOrganizations", pb.ListOrganizationsRequest(page_token=write_token("zz\0"))),
    ("PutUser", pb.PutUserRequest(email="ann@uni.example", organization="uni\0")),
    ("CreateKey", pb.CreateKeyRequest(key=pb.Key(organization="uni", user="ann\0"))),
    ("ListKeys", pb.ListKeysRequest(organization="uni\0")),
    ("ListKeys", pb.ListKeysRequest(page_token=write_token("9 \0"))),
    ("RevokeKey", pb.RevokeKeyRequest(id="\0")),
    ("ResolveUser", pb.ResolveUserRequest(email="ann\0", organization="uni")),
    ("ResolveSettings", pb.ResolveSettingsRequest(owner="ann\0")),
]


async def test_a_text_with_nul_is_nobodys_or_the_callers_fault(accounts: Accounts) -> None:
    for method, request in REQUESTS:
        identity = SERVICE if method.startswith("Resolve") else ADMIN
        # SQLite compares it, and finds nothing.
        with suppress(InvalidRequestError, NotFoundError):
            response = await accounts.call(method, request, identity)
            assert not response.ListFields() or method == "ResolveSettings"


async def test_a_text_that_is_too_long_to_be_searched_for_is_refused(accounts: Accounts) -> None:
    for method, request in (
        ("ListOrganizations", pb.ListOrganizationsRequest(text="%" * 70_000)),
        ("ListUsers", pb.ListUsersRequest(text="x" * 70_000, organization="uni")),
        ("ListKeys", pb.ListKeysRequest(text="\u5e83" * 70_000)),
    ):
        with pytest.raises(InvalidRequestError) as refused:
            await accounts.call(method, request)
        assert [each.field for each in refused.value.violations] == ["text"]


async def test_a_token_with_a_time_beyond_all_times_is_refused(accounts: Accounts) -> None:
    request = pb.ListKeysRequest(page_token=write_token("9" * 30 + " x"))
    with pytest.raises(InvalidRequestError) as refused:
        await accounts.call("ListKeys", request)
    assert [each.field for each in refused.value.violations] == ["page_token"]
