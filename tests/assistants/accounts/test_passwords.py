"""Passwords: who sets them, and what they must fulfil."""

from typing import Any

import pytest
from assistants.accounts.conftest import ANN, BEN, EVE, EVIL_ADMIN, UNI_ADMIN, Accounts
from assistants.accounts.signing_in import (
    OTHER_PASSWORD,
    PASSWORD,
    session,
    set_password,
    sign_in,
)
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.accounts.sign_in.limits import MAX_ADDRESS_FAILURES
from heddle_assistants.accounts.sign_in.passwords import check_new_password
from heddle_assistants.database.schema import audit_events
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    ResourceExhaustedError,
    UnauthenticatedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select


async def change(
    accounts: Accounts, current: str, new: str, user: Identity = ANN, **fields: Any
) -> None:
    """Change the password of a user as that user."""
    request = pb.SetPasswordRequest(password=new, current_password=current, **fields)
    await accounts.call("SetPassword", request, user)


async def test_a_password_of_a_user_is_generated_and_returned_once(accounts: Accounts) -> None:
    first, second = [await set_password(accounts, password="", by=UNI_ADMIN) for _ in range(2)]
    assert len(first.password) == 20
    assert first.password != second.password
    assert (await sign_in(accounts, password=second.password)).token
    assert not (await set_password(accounts, by=UNI_ADMIN)).password


async def test_a_new_password_ends_the_sessions_of_the_user_alone(accounts: Accounts) -> None:
    await set_password(accounts)
    await set_password(accounts, BEN)
    token, other = (await sign_in(accounts)).token, (await sign_in(accounts, BEN)).token
    await set_password(accounts, password=OTHER_PASSWORD, by=UNI_ADMIN)
    for call in (session(accounts, token), sign_in(accounts)):
        with pytest.raises(UnauthenticatedError):
            await call
    assert (await sign_in(accounts, password=OTHER_PASSWORD)).token
    assert (await session(accounts, other)).id


async def test_users_change_their_own_with_the_current_one(accounts: Accounts) -> None:
    await set_password(accounts)
    token = (await sign_in(accounts)).token
    with pytest.raises(InvalidRequestError) as caught:
        await change(accounts, "wrong password", OTHER_PASSWORD)
    assert [each.field for each in caught.value.violations] == ["current_password"]
    assert (await session(accounts, token)).id
    await change(accounts, PASSWORD, OTHER_PASSWORD)
    with pytest.raises(UnauthenticatedError):
        await session(accounts, token)
    assert (await sign_in(accounts, password=OTHER_PASSWORD)).token


async def test_a_session_is_no_way_to_guess_the_password(accounts: Accounts) -> None:
    await set_password(accounts)
    for _ in range(MAX_ADDRESS_FAILURES):
        with pytest.raises(InvalidRequestError):
            await change(accounts, "wrong password", OTHER_PASSWORD)
    with pytest.raises(ResourceExhaustedError):
        await change(accounts, PASSWORD, OTHER_PASSWORD)


@pytest.mark.parametrize("by", [ANN, BEN, EVE, EVIL_ADMIN, Identity("key:0", "uni")])
async def test_only_administrators_set_the_passwords_of_others(
    accounts: Accounts, by: Identity
) -> None:
    await set_password(accounts)
    with pytest.raises(NotFoundError) as caught:
        await set_password(accounts, password=OTHER_PASSWORD, by=by)
    missing = Identity(ANN.subject, "nowhere", ("creator",))
    with pytest.raises(NotFoundError) as other:
        await set_password(accounts, missing, OTHER_PASSWORD, by=by)
    assert caught.value.message.replace("'uni'", "X") == other.value.message.replace(
        "'nowhere'", "X"
    )
    assert (await sign_in(accounts)).token


async def test_a_user_of_another_organisation_has_no_password_there(accounts: Accounts) -> None:
    with pytest.raises(NotFoundError):
        await set_password(accounts, Identity(EVE.subject, "uni", ("creator",)), by=UNI_ADMIN)
    request = pb.SetPasswordRequest(email=EVE.subject, password=PASSWORD, current_password="x")
    with pytest.raises(InvalidRequestError):
        await accounts.call("SetPassword", request, ANN)


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("elevenchars", "at least 12 characters"),
        ("aaaabbbbcccc", "different characters"),
        ("my name is ANNETTE", "the name of the e-mail address"),
        ("x" * 257, "at most 256 characters"),
    ],
)
async def test_a_weak_password_is_refused_without_repeating_it(
    accounts: Accounts, password: str, complaint: str
) -> None:
    user = Identity("annette@uni.example", "uni", ("creator",))
    await accounts.user(user.subject, "uni")
    with pytest.raises(InvalidRequestError) as caught:
        await set_password(accounts, user, password)
    [violation] = caught.value.violations
    assert violation.field == "password"
    assert complaint in violation.description
    assert password not in str(caught.value)


@pytest.mark.parametrize("password", ["twelve chars", "abcde" * 51 + "x", "пароль для Энн"])
def test_a_password_of_the_least_and_the_greatest_length_is_accepted(password: str) -> None:
    check_new_password(password, "annette@uni.example")


async def test_the_log_says_who_set_a_password_and_who_signed_in(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts, by=UNI_ADMIN)
    await sign_in(accounts)
    for user in (ANN, Identity("nobody@uni.example")):
        with pytest.raises(UnauthenticatedError):
            await sign_in(accounts, user, "wrong password")
    async with rows.reading() as connection:
        events = (await connection.execute(select(audit_events))).all()[-4:]
    log = [(each.action, each.subject, each.organization, each.outcome) for each in events]
    assert log == [
        ("user.password", UNI_ADMIN.subject, "uni", "done"),
        ("session.create", ANN.subject, "uni", "done"),
        ("session.create", "", "uni", "refused"),
        ("session.create", "", "", "refused"),
    ]
    assert [each.object_id for each in events[2:]] == [ANN.subject, "unknown"]
    assert PASSWORD not in str(events)
