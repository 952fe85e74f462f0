"""The account of the first operator is made once, by who has the link."""

import asyncio
from typing import Any

import pytest
from assistants.accounts.conftest import ADMIN, ANN, SECRET, SERVICE, UNI_ADMIN, Accounts, serving
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import (
    ConflictError,
    HeddleError,
    InvalidRequestError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.setup_link import setup_link, setup_secret
from pydantic import SecretStr

LINK = setup_secret(SecretStr(SECRET))
PASSWORD = "weaving-at-night-7"
FIRST = "first@uni.example"
DEFAULT_ADMIN = Identity("boss@uni.example", "default", ("organization_admin",))


async def create(accounts: Accounts, identity: Identity = SERVICE, **fields: Any) -> None:
    values = {"email": FIRST, "password": PASSWORD, "secret": LINK, **fields}
    await accounts.call("CreateFirstOperator", pb.CreateFirstOperatorRequest(**values), identity)


async def is_missing(accounts: Accounts) -> bool:
    response = await accounts.call("GetSetup", pb.GetSetupRequest(), SERVICE)
    return bool(response.operator_missing)


async def scopes(accounts: Accounts, password: str = PASSWORD) -> list[str]:
    request = pb.SignInRequest(email=FIRST, password=password)
    response = await accounts.call("SignIn", request, SERVICE)
    return list(response.session.scopes)


def test_the_secret_is_after_the_hash_and_changes_with_that_of_the_services() -> None:
    link = setup_link("https://heddle.example/studio/", SecretStr(f"{SECRET},former"))
    assert link == f"https://heddle.example/studio/setup#{LINK}"
    assert len(LINK) == 40
    assert setup_secret(SecretStr(f"other,{SECRET}")) != LINK


async def test_the_link_makes_one_account_with_all_rights(accounts: Accounts) -> None:
    assert await is_missing(accounts)
    await create(accounts, name="First")
    assert not await is_missing(accounts)
    assert await scopes(accounts) == ["admin"]
    with pytest.raises(ConflictError, match="has an account already"):
        await create(accounts, email="second@uni.example")
    gone = pb.DeleteUserRequest(organization="default", email=FIRST)
    await accounts.call("DeleteUser", gone)
    with pytest.raises(ConflictError, match="has an account already"):
        await create(accounts)
    await accounts.user(FIRST, "default", role="admin")
    request = pb.SetPasswordRequest(email=FIRST, organization="default", password=PASSWORD)
    await accounts.call("SetPassword", request)
    assert "admin" not in await scopes(accounts)


async def test_of_many_requests_at_the_same_time_one_makes_an_account(accounts: Accounts) -> None:
    emails = [f"first{number}@uni.example" for number in range(6)]
    results = await asyncio.gather(
        *(create(accounts, email=each) for each in emails), return_exceptions=True
    )
    failures = [each for each in results if each is not None]
    assert len(failures) == len(emails) - 1
    assert all(isinstance(each, HeddleError) for each in failures)
    listed = await accounts.call("ListUsers", pb.ListUsersRequest(organization="default"))
    assert len(listed.users) == 1


REFUSED = {
    "wrong secret": ({"secret": "0" * 40}, SERVICE, PermissionDeniedError),
    "no ASCII": ({"secret": "ñ"}, SERVICE, PermissionDeniedError),
    "weak password": ({"password": "short"}, SERVICE, InvalidRequestError),
    "no address": ({"email": "first"}, SERVICE, InvalidRequestError),
    "a user's address": ({"email": ANN.subject}, SERVICE, ConflictError),
    "an operator": ({}, ADMIN, PermissionDeniedError),
    "a user": ({}, UNI_ADMIN, PermissionDeniedError),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refused_request_leaves_the_link_good(accounts: Accounts, case: str) -> None:
    fields, identity, expected = REFUSED[case]
    with pytest.raises(expected):
        await create(accounts, identity, **fields)
    assert await is_missing(accounts)


async def test_the_link_is_not_good_where_the_environment_names_operators(
    populated_url: str,
) -> None:
    async with serving(populated_url, operators=["boss@uni.example"]) as accounts:
        assert not await is_missing(accounts)
        with pytest.raises(ConflictError):
            await create(accounts)


async def test_administrators_cannot_take_the_account_over(accounts: Accounts) -> None:
    await create(accounts)
    password = pb.SetPasswordRequest(
        email=FIRST, organization="default", password="weaving-at-day-7"
    )
    with pytest.raises(PermissionDeniedError, match="Only operators"):
        await accounts.call("SetPassword", password, DEFAULT_ADMIN)
    change = pb.PutUserRequest(email=FIRST, organization="uni", role="admin")
    await accounts.call("PutUser", change, UNI_ADMIN)
    other = pb.SetPasswordRequest(email=FIRST, organization="uni", password="weaving-at-day-7")
    with pytest.raises(PermissionDeniedError, match="Only operators"):
        await accounts.call("SetPassword", other, UNI_ADMIN)
    assert await scopes(accounts) == ["admin"]
