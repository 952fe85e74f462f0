"""Texts that extensions of the gateway store."""

import asyncio
import time
from typing import Any

import pytest
from assistants.accounts.conftest import ADMIN, ANN, SERVICE, UNI_ADMIN, Accounts
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.accounts.extension_texts import MAX_NAME, MAX_TEXT, ExtensionTexts
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import extension_texts
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import func, select

OLD, NEW = "o" * 32, "n" * 32


async def put(accounts: Accounts, name: str, text: str = "x", **fields: Any) -> None:
    request = pb.PutExtensionTextRequest(name=name, text=text, **fields)
    await accounts.call("PutExtensionText", request, SERVICE)


async def get(accounts: Accounts, name: str, identity: Identity = SERVICE) -> str:
    request = pb.GetExtensionTextRequest(name=name)
    return str((await accounts.call("GetExtensionText", request, identity)).text)


def after(seconds: int) -> Timestamp:
    return Timestamp(seconds=int(time.time()) + seconds)


async def test_a_text_is_stored_and_replaced_until_it_ends(accounts: Accounts) -> None:
    await put(accounts, "lti:a", "one")
    await put(accounts, "lti:a", "two")
    assert await get(accounts, "lti:a") == "two"
    await put(accounts, "lti:a", "three", expire_time=after(-1))
    for name in ("lti:a", "lti:b", "\0"):
        with pytest.raises(NotFoundError):
            await get(accounts, name)


async def test_of_requests_for_a_new_name_one_succeeds(accounts: Accounts) -> None:
    new = [put(accounts, "lti:n", only_new=True, expire_time=after(60)) for _ in range(5)]
    failures = [each for each in await asyncio.gather(*new, return_exceptions=True) if each]
    assert [type(each) for each in failures] == [AlreadyExistsError] * 4
    await put(accounts, "lti:ended", expire_time=after(-1))
    await put(accounts, "lti:ended", "new", only_new=True)
    assert await get(accounts, "lti:ended") == "new"


@pytest.mark.parametrize(
    ("name", "text"),
    [("", "x"), ("n" * (MAX_NAME + 1), "x"), ("\0", "x"), ("n", "x" * (MAX_TEXT + 1))],
)
async def test_a_text_of_a_wrong_length_is_refused(
    accounts: Accounts, name: str, text: str
) -> None:
    with pytest.raises(InvalidRequestError):
        await put(accounts, name, text)


@pytest.mark.parametrize("identity", [ADMIN, UNI_ADMIN, ANN])
async def test_only_services_read_and_write_texts(accounts: Accounts, identity: Identity) -> None:
    with pytest.raises(PermissionDeniedError):
        await get(accounts, "lti:a", identity)
    request = pb.PutExtensionTextRequest(name="lti:a")
    with pytest.raises(PermissionDeniedError):
        await accounts.call("PutExtensionText", request, identity)


async def test_a_text_is_encrypted_for_its_name_with_the_newest_key(database: Database) -> None:
    old, both = (ExtensionTexts(database, Keys.of(keys)) for keys in ([OLD], [NEW, OLD]))
    await old.put(pb.PutExtensionTextRequest(name="lti:a", text="secret"))
    assert await both.get("lti:a") == "secret"
    newest = ExtensionTexts(database, Keys.of([NEW]))
    assert await newest.get("lti:a") == "secret"
    with pytest.raises((HeddleError, UnreadableSecretError)):
        await old.get("lti:a")
    async with database.reading() as connection:
        assert "secret" not in (await connection.scalar(select(extension_texts.c.sealed)) or "")
        assert await connection.scalar(select(func.count()).select_from(extension_texts)) == 1
