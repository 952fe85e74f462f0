"""API keys: how they are made, whom they stand for, when they end."""

import asyncio
import time
from typing import Any

import pytest
from assistants.accounts.conftest import (
    ADMIN,
    ANN,
    BEN,
    ENCRYPTION,
    EVE,
    PEPPER,
    UNI_ADMIN,
    Accounts,
    serving,
)
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.accounts.api_keys import ApiKeys
from heddle_assistants.accounts.key_text import Peppers, new_key, parts
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import api_keys, organizations
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.rows import ReadRow, Row
from sqlalchemy import Select, select, update


async def test_a_users_key_stands_for_the_user(accounts: Accounts) -> None:
    made = await accounts.key(user=ANN.subject, name="laptop")
    whose = await accounts.whose(made.secret)
    assert (whose.subject, whose.organization) == (ANN.subject, "uni")
    assert (list(whose.scopes), whose.trusted) == ([], False)


async def test_an_organisations_key_stands_for_itself(accounts: Accounts) -> None:
    made = await accounts.key(trusted=True, scopes=["organization_admin"])
    whose = await accounts.whose(made.secret)
    assert whose.subject == f"key:{made.key.id}"
    assert (list(whose.scopes), whose.trusted) == (["organization_admin"], True)


async def test_a_key_says_its_id_and_hides_256_random_bits(accounts: Accounts) -> None:
    first, second = [await accounts.key() for _ in range(2)]
    beginning, identifier, secret = first.secret.split("_", 2)
    assert (beginning, identifier) == ("hk", first.key.id)
    assert len(secret) == 43  # 32 bytes in base 64
    assert secret not in second.secret


async def test_what_is_kept_does_not_tell_the_key(accounts: Accounts, rows: Database) -> None:
    made = await accounts.key()
    secret = made.secret.split("_", 2)[2]
    async with rows.reading() as connection:
        row = (await connection.execute(select(api_keys))).one()
    assert secret not in str(row)
    assert secret.encode() not in row.digest
    assert len(row.digest) == 32


async def test_no_list_and_no_revocation_tells_the_key(accounts: Accounts) -> None:
    made = await accounts.key()
    listed = await accounts.call("ListKeys", pb.ListKeysRequest())
    revoked = await accounts.call("RevokeKey", pb.RevokeKeyRequest(id=made.key.id))
    secret = made.secret.split("_", 2)[2]
    assert secret not in str(listed) + str(revoked) + str(made.key)


OTHER_PEPPER = "another-pepper-of-32-characters!!"


async def test_another_pepper_is_refused_while_keys_need_the_former_one(database_url: str) -> None:
    async with serving(database_url) as accounts:
        await accounts.put("uni")
        key = await accounts.key()
        assert await accounts.whose(key.secret)
    with pytest.raises(ValueError, match=r"1 API keys .* HEDDLE_ASSISTANTS_KEY_PEPPER"):
        async with serving(database_url, key_pepper=OTHER_PEPPER):
            pass
    async with serving(database_url, key_pepper=OTHER_PEPPER, secrets_lost=True) as accounts:
        with pytest.raises(UnauthenticatedError):
            await accounts.whose(key.secret)
        await accounts.call("RevokeKey", pb.RevokeKeyRequest(id=key.key.id))
    async with serving(database_url, key_pepper=OTHER_PEPPER) as accounts:
        assert (await accounts.key()).secret


async def test_a_pepper_is_rotated_without_new_keys(database_url: str) -> None:
    async with serving(database_url) as accounts:
        await accounts.put("uni")
        used, unused = [await accounts.key() for _ in range(2)]
    async with serving(database_url, key_pepper=f"{OTHER_PEPPER}, {PEPPER}") as accounts:
        created = await accounts.key()
        for _ in range(2):
            assert await accounts.whose(used.secret)
        page = await accounts.call("ListKeys", pb.ListKeysRequest())
        former = {key.id: key.former_pepper for key in page.keys}
        assert former == {created.key.id: False, used.key.id: False, unused.key.id: True}
    with pytest.raises(ValueError, match="1 API keys"):
        async with serving(database_url, key_pepper=OTHER_PEPPER):
            pass
    async with serving(database_url, key_pepper=f"{OTHER_PEPPER},{PEPPER}") as accounts:
        assert await accounts.whose(unused.secret)
    async with serving(database_url, key_pepper=OTHER_PEPPER) as accounts:
        for key in (used, unused, created):
            assert await accounts.whose(key.secret)


async def refusal(accounts: Accounts, key: str) -> tuple[str, str, dict[str, str]]:
    with pytest.raises(UnauthenticatedError) as caught:
        await accounts.whose(key)
    error = caught.value
    return error.reason, error.message, error.metadata


async def test_every_useless_key_is_refused_in_the_same_words(
    accounts: Accounts, rows: Database
) -> None:
    made = [(await accounts.key(user=BEN.subject)).secret for _ in range(2)]
    expired = await accounts.key(expire_time=Timestamp(seconds=int(time.time()) + 1))
    closed = await accounts.key(organization="evil")
    await accounts.call("RevokeKey", pb.RevokeKeyRequest(id=parts(made[0])[0]))
    await accounts.user(BEN.subject, "uni", disabled=True)
    async with rows.writing() as connection:
        evil = organizations.c.slug == "evil"
        await connection.execute(update(organizations).where(evil).values(status="suspended"))
    await asyncio.sleep(1.1)
    useless = [
        *made,  # one revoked, one of a disabled user
        expired.secret,
        closed.secret,
        f"hk_{'0' * 16}_{'x' * 43}",
        made[0][:-1] + ("a" if made[0][-1] != "a" else "b"),
        f"hk_{parts(made[0])[0]}_",
        "hk__",
        "lamb_0123456789abcdef",
        "hk_\x00_'; DROP TABLE api_keys;--",
        "ä" * 5000,
    ]
    words = [await refusal(accounts, key) for key in useless]
    assert words == [words[0]] * len(useless)
    assert words[0] == ("UNAUTHENTICATED", "The API key is not valid.", {"subject": "key"})


class CountingPeppers(Peppers):
    """Tells how often it was used."""

    used = 0

    def digest(self, text: str, identifier: str) -> bytes:
        CountingPeppers.used += 1
        return super().digest(text, identifier)


class CountingDatabase:
    """A database that tells how many rows were read singly."""

    def __init__(self, database: Database) -> None:
        self.name = database.name
        self.reading = database.reading
        self.writing = database.writing
        self.check = database.check
        self.clean_up = database.clean_up
        self.forget_deleted = database.forget_deleted
        self.reads = 0
        self._database = database

    def row_reader(self, query: Select[*tuple[Any, ...]]) -> ReadRow:
        read = self._database.row_reader(query)

        async def counted(*values: object) -> Row | None:
            self.reads += 1
            return await read(*values)

        return counted


async def test_every_key_costs_one_read_and_one_digest_whatever_is_wrong_with_it(
    accounts: Accounts, rows: Database
) -> None:
    database, peppers = CountingDatabase(rows), CountingPeppers([PEPPER])
    audit = await open_audit_log(rows, Keys.of([ENCRYPTION]))
    keys = ApiKeys(database, audit, peppers)
    good, revoked = [(await accounts.key()).secret for _ in range(2)]
    await accounts.call("RevokeKey", pb.RevokeKeyRequest(id=parts(revoked)[0]))
    taken = []
    for key in (good, revoked, good[:-2] + "..", new_key(peppers).text, "garbage", ""):
        before = database.reads, CountingPeppers.used
        found = await keys.holder(key)
        taken.append((database.reads - before[0], CountingPeppers.used - before[1]))
        assert (found is not None) == (key == good)
    assert taken == [(1, 1)] * 6


async def test_lists_are_newest_first_and_hold_the_revoked_ones(accounts: Accounts) -> None:
    made = [(await accounts.key(name=f"key {number}")).key.id for number in range(5)]
    await accounts.call("RevokeKey", pb.RevokeKeyRequest(id=made[2]))
    found: list[pb.Key] = []
    token = ""
    while True:
        request = pb.ListKeysRequest(page_size=2, page_token=token)
        page = await accounts.call("ListKeys", request)
        found += page.keys
        token = page.next_page_token
        if not token:
            break
    times = [(key.create_time.seconds, key.id) for key in found]
    assert times == sorted(times, reverse=True)
    assert {key.id for key in found} == set(made)
    assert [key.HasField("revoke_time") for key in found].count(True) == 1


async def test_a_list_is_of_one_organisation_if_that_is_asked_for(accounts: Accounts) -> None:
    await accounts.key()
    other = await accounts.key(organization="evil")
    listed = await accounts.call("ListKeys", pb.ListKeysRequest(organization="evil"))
    assert [key.id for key in listed.keys] == [other.key.id]
    listed = await accounts.call("ListKeys", pb.ListKeysRequest(organization="evil"), UNI_ADMIN)
    assert list(listed.keys) == []


async def test_a_second_revocation_changes_nothing(accounts: Accounts) -> None:
    request = pb.RevokeKeyRequest(id=(await accounts.key()).key.id)
    first = await accounts.call("RevokeKey", request)
    await asyncio.sleep(1.1)
    assert await accounts.call("RevokeKey", request) == first


@pytest.mark.parametrize(
    ("identity", "key", "error"),
    [
        (ADMIN, {"scopes": ["service"]}, InvalidRequestError),
        (ADMIN, {"scopes": ["everything"]}, InvalidRequestError),
        (ADMIN, {"user": "nobody@uni.example"}, InvalidRequestError),
        (ADMIN, {"user": EVE.subject}, InvalidRequestError),
        (ADMIN, {"user": ANN.subject, "scopes": ["organization_admin"]}, InvalidRequestError),
        (ADMIN, {"expire_time": Timestamp(seconds=1)}, InvalidRequestError),
        (ADMIN, {"name": "x\x1b[31m"}, InvalidRequestError),
        (ADMIN, {"organization": "nowhere"}, NotFoundError),
        (UNI_ADMIN, {"scopes": ["admin"]}, PermissionDeniedError),
        (UNI_ADMIN, {"organization": "evil"}, NotFoundError),
        (ANN, {}, PermissionDeniedError),
        (ANN, {"user": BEN.subject}, PermissionDeniedError),
        (ANN, {"user": "nobody@uni.example"}, PermissionDeniedError),
        (ANN, {"user": ANN.subject, "trusted": True}, PermissionDeniedError),
        (ANN, {"user": ANN.subject, "scopes": ["organization_admin"]}, PermissionDeniedError),
        (ANN, {"user": ANN.subject, "organization": "evil"}, NotFoundError),
    ],
)
async def test_nobody_gives_what_is_not_his(
    accounts: Accounts, identity: Identity, key: dict[str, Any], error: type[HeddleError]
) -> None:
    with pytest.raises(error):
        await accounts.key(identity, **key)


@pytest.mark.parametrize(
    ("identity", "key"),
    [
        (ANN, {"user": ANN.subject}),
        (UNI_ADMIN, {"user": ANN.subject}),
        (UNI_ADMIN, {"trusted": True}),
        (ADMIN, {"scopes": ["admin", "organization_admin"]}),
    ],
)
async def test_one_gives_what_is_ones_own(
    accounts: Accounts, identity: Identity, key: dict[str, Any]
) -> None:
    made = await accounts.key(identity, **key)
    assert list((await accounts.whose(made.secret)).scopes) == key.get("scopes", [])


async def test_a_key_of_an_administrator_has_the_rights_of_creators_too(accounts: Accounts) -> None:
    subject = UNI_ADMIN.subject
    response = await accounts.key(UNI_ADMIN, user=subject, scopes=["organization_admin"])
    assert list((await accounts.whose(response.secret)).scopes) == ["organization_admin", "creator"]


async def test_who_is_no_administrator_any_more_has_no_key_of_one(accounts: Accounts) -> None:
    made = await accounts.key(user=UNI_ADMIN.subject, scopes=["organization_admin"])
    await accounts.user(UNI_ADMIN.subject, "uni", role="creator")
    assert list((await accounts.whose(made.secret)).scopes) == ["creator"]


async def test_who_goes_to_another_organisation_leaves_the_keys_behind(accounts: Accounts) -> None:
    made = await accounts.key(user=ANN.subject)
    await accounts.user(ANN.subject, "evil")
    with pytest.raises(UnauthenticatedError):
        await accounts.whose(made.secret)


async def test_a_key_is_in_no_log_and_no_name_of_a_thing(
    accounts: Accounts, capfd: pytest.CaptureFixture[str]
) -> None:
    made = await accounts.key()
    await accounts.whose(made.secret)
    with pytest.raises(UnauthenticatedError):
        await accounts.whose(made.secret[:-1])
    secret = made.secret.split("_", 2)[2][:30]
    assert secret not in "".join(capfd.readouterr())
    created_here = new_key(Peppers(["p"]))
    assert created_here.text.split("_", 2)[2] not in repr(created_here)
    assert "secret-pepper" not in repr(Peppers(["secret-pepper"]))
