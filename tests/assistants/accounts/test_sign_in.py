"""Signing in with a password: who may, into what, and what refusals say."""

import asyncio
import statistics
import time
from typing import Any

import pytest
from argon2 import PasswordHasher
from assistants.accounts.conftest import (
    ADMIN,
    ANN,
    BEN,
    EVE,
    EVIL_ADMIN,
    SERVICE,
    UNI_ADMIN,
    Accounts,
    serving,
)
from assistants.accounts.signing_in import (
    OTHER_PASSWORD,
    PASSWORD,
    from_provider,
    session,
    set_password,
    sign_in,
    sign_out,
    switch,
)
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.accounts.sign_in import password_hashes
from heddle_assistants.accounts.sign_in.limits import (
    MAX_ADDRESS_FAILURES,
    MAX_CLIENT_FAILURES,
    WINDOW_SECONDS,
)
from heddle_assistants.database.schema import (
    audit_events,
    organizations,
    passwords,
    sessions,
    sign_in_attempts,
)
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from password_costs import make_real
from sqlalchemy import select, update

NOBODY = Identity("nobody@uni.example", "uni", ("creator",))


async def refusal(accounts: Accounts, *arguments: Any, **fields: Any) -> HeddleError:
    """Return why a sign-in is refused."""
    with pytest.raises((UnauthenticatedError, ResourceExhaustedError)) as caught:
        await sign_in(accounts, *arguments, **fields)
    return caught.value


async def test_a_session_acts_as_the_user(accounts: Accounts) -> None:
    await set_password(accounts)
    await set_password(accounts, UNI_ADMIN, OTHER_PASSWORD)
    ann = await session(accounts, (await sign_in(accounts)).token)
    assert (ann.user, ann.organization, ann.role) == (ANN.subject, "uni", "member")
    assert (list(ann.scopes), ann.method) == ([], "password")
    head = (await sign_in(accounts, UNI_ADMIN, OTHER_PASSWORD)).session
    assert list(head.scopes) == ["creator", "organization_admin"]


async def test_a_user_signs_in_however_the_address_and_the_password_are_spelt(
    accounts: Accounts,
) -> None:
    password = "Übung macht den Meister"
    await set_password(accounts, password=password)
    decomposed = "U\u0308bung macht den Meister"
    request = pb.SignInRequest(email="ANN@Uni.Example", password=decomposed)
    response = await accounts.call("SignIn", request, SERVICE)
    assert response.session.user == ANN.subject


async def test_refusals_do_not_tell_why(accounts: Accounts) -> None:
    for user in (ANN, BEN):
        await set_password(accounts, user)
    await accounts.user(BEN.subject, "uni", disabled=True)
    errors = [
        await refusal(accounts, ANN, "wrong password"),
        await refusal(accounts, BEN),
        await refusal(accounts, NOBODY),
        await refusal(accounts, UNI_ADMIN),  # has no password
        await refusal(accounts, ANN, organization="evil"),
        await refusal(accounts, ANN, organization="nowhere"),
    ]
    assert len({(each.reason, each.message, str(each.metadata)) for each in errors}) == 1
    assert errors[0].metadata["subject"] == "sign-in"


async def test_refusals_take_the_same_time(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each computes one hash and writes one event; medians of alternating attempts are compared."""
    make_real(monkeypatch)
    await set_password(accounts)
    await set_password(accounts, BEN)
    await accounts.user(BEN.subject, "uni", disabled=True)
    times: dict[str, list[float]] = {}
    for _ in range(MAX_ADDRESS_FAILURES):
        for user, password in ((ANN, "wrong password"), (NOBODY, PASSWORD), (BEN, PASSWORD)):
            started = time.process_time()
            await refusal(accounts, user, password)
            times.setdefault(user.subject, []).append(time.process_time() - started)
    medians = [statistics.median(each) for each in times.values()]
    assert max(medians) < 1.5 * min(medians), times


async def test_an_address_is_refused_after_its_failures_whoever_sends_them(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    for user in (ANN, NOBODY):
        for number in range(MAX_ADDRESS_FAILURES):
            error = await refusal(accounts, user, "wrong password", client=f"192.0.2.{number}")
            assert isinstance(error, UnauthenticatedError)
        error = await refusal(accounts, user, client="192.0.2.99")
        assert isinstance(error, ResourceExhaustedError)
        assert 0 < (error.retry_after or 0) <= WINDOW_SECONDS
    async with rows.writing() as connection:
        await connection.execute(update(sign_in_attempts).values(ends_at=int(time.time())))
    assert (await sign_in(accounts)).token


async def test_a_client_is_refused_after_its_failures_for_any_address(accounts: Accounts) -> None:
    await set_password(accounts)
    for number in range(MAX_CLIENT_FAILURES):
        user = Identity(f"user{number}@uni.example")
        error = await refusal(accounts, user, client="192.0.2.1")
        assert isinstance(error, UnauthenticatedError)
    assert isinstance(await refusal(accounts, client="192.0.2.1"), ResourceExhaustedError)
    assert (await sign_in(accounts, client="192.0.2.2")).token


async def test_a_success_forgets_the_failures_of_the_address_alone(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    await refusal(accounts, ANN, "wrong password", client="192.0.2.1")
    await sign_in(accounts, client="192.0.2.1")
    async with rows.reading() as connection:
        counted = (await connection.execute(select(sign_in_attempts))).all()
    assert [row.failures for row in counted] == [1]
    assert "192.0.2.1" not in str(counted)


async def test_attempts_at_the_same_time_do_not_pass_the_limit_together(
    accounts: Accounts,
) -> None:
    attempts = [refusal(accounts, ANN, "wrong password") for _ in range(2 * MAX_ADDRESS_FAILURES)]
    errors = await asyncio.gather(*attempts)
    checked = [each for each in errors if isinstance(each, UnauthenticatedError)]
    assert len(checked) == MAX_ADDRESS_FAILURES


async def test_two_services_share_sessions_and_failures(database_url: str) -> None:
    async with serving(database_url) as one, serving(database_url) as other:
        await one.put("uni")
        await one.user(ANN.subject, "uni")
        await set_password(one)
        started = await sign_in(one)
        assert (await session(other, started.token)).user == ANN.subject
        await sign_out(other, started.token)
        with pytest.raises(UnauthenticatedError):
            await session(one, started.token)
        for number in range(MAX_ADDRESS_FAILURES):
            await refusal((one, other)[number % 2], ANN, "wrong password")
        for service in (one, other):
            assert isinstance(await refusal(service), ResourceExhaustedError)


async def test_what_is_stored_does_not_tell_the_password_or_the_token(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    token = (await sign_in(accounts)).token
    async with rows.reading() as connection:
        tables = (passwords, sessions, audit_events)
        stored = "".join([str((await connection.execute(select(each))).all()) for each in tables])
    assert "$argon2id$" in stored
    assert PASSWORD not in stored
    assert token.split("_", 2)[2] not in stored


async def test_a_hash_of_former_parameters_is_computed_anew(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    former = cheap.hash(PASSWORD)
    async with rows.writing() as connection:
        await connection.execute(update(passwords).values(hash=former))
    await sign_in(accounts)
    async with rows.reading() as connection:
        hashed = await connection.scalar(select(passwords.c.hash))
    assert hashed != former
    assert not password_hashes.is_outdated(str(hashed))
    assert (await sign_in(accounts)).token


async def test_a_token_of_another_form_is_refused_in_the_same_words(accounts: Accounts) -> None:
    await set_password(accounts)
    token = (await sign_in(accounts)).token
    key = (await accounts.key(user=ANN.subject)).secret
    messages = set()
    for text in (token[:-1], token[:-1] + "é", f"{token}x", "hs_", key, "' OR '1'='1", "\0"):
        with pytest.raises(UnauthenticatedError) as caught:
            await session(accounts, text)
        messages.add((caught.value.message, str(caught.value.metadata)))
    assert len(messages) == 1
    with pytest.raises(UnauthenticatedError):
        await accounts.whose(token)


async def test_sessions_end_when_they_are_not_used_and_at_their_end(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    for column, seconds in ((sessions.c.used_at, -480 * 60), (sessions.c.ends_at, 0)):
        token = (await sign_in(accounts)).token
        async with rows.writing() as connection:
            values = {column.name: int(time.time()) + seconds}
            await connection.execute(update(sessions).values(**values))
        with pytest.raises(UnauthenticatedError):
            await session(accounts, token)


async def test_use_extends_a_session_and_is_written_once_a_minute(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    token = (await sign_in(accounts)).token

    async def used_at() -> int:
        async with rows.reading() as connection:
            return int(await connection.scalar(select(sessions.c.used_at)) or 0)

    now = int(time.time())
    for before, is_written in ((now - 30, False), (now - 61, True)):
        async with rows.writing() as connection:
            await connection.execute(update(sessions).values(used_at=before))
        await session(accounts, token)
        assert (await used_at() != before) == is_written


@pytest.mark.parametrize("everywhere", [False, True])
async def test_signing_out_ends_one_session_or_all(accounts: Accounts, everywhere: bool) -> None:
    await set_password(accounts)
    await set_password(accounts, BEN)
    tokens = [(await sign_in(accounts)).token for _ in range(2)]
    others = (await sign_in(accounts, BEN)).token
    assert await sign_out(accounts, tokens[0], everywhere=everywhere) == 1 + everywhere
    assert await sign_out(accounts, tokens[0]) == 0
    with pytest.raises(UnauthenticatedError):
        await session(accounts, tokens[0])
    if everywhere:
        with pytest.raises(UnauthenticatedError):
            await session(accounts, tokens[1])
    else:
        assert (await session(accounts, tokens[1])).id
    assert (await session(accounts, others)).id


async def test_a_disabled_user_or_organisation_has_no_session(
    accounts: Accounts, rows: Database
) -> None:
    await set_password(accounts)
    await set_password(accounts, EVE)
    ann, eve = (await sign_in(accounts)).token, (await sign_in(accounts, EVE)).token
    await accounts.user(ANN.subject, "uni", disabled=True)
    await accounts.user(ANN.subject, "uni")
    async with rows.writing() as connection:
        evil = organizations.c.slug == "evil"
        await connection.execute(update(organizations).where(evil).values(status="suspended"))
    for token in (ann, eve):
        with pytest.raises(UnauthenticatedError):
            await session(accounts, token)
    assert isinstance(await refusal(accounts, EVE), UnauthenticatedError)


async def test_a_lower_role_applies_to_running_sessions(accounts: Accounts) -> None:
    await set_password(accounts, UNI_ADMIN)
    token = (await sign_in(accounts, UNI_ADMIN)).token
    await accounts.user(UNI_ADMIN.subject, "uni", role="member")
    assert not (await session(accounts, token)).scopes


async def test_the_home_password_opens_all_organisations_of_the_user(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil", role="admin")
    await set_password(accounts)
    started = await sign_in(accounts)
    moved = await switch(accounts, started.token, "evil")
    assert moved.token != started.token
    assert moved.session.expire_time == started.session.expire_time
    assert list(moved.session.scopes) == ["creator", "organization_admin"]
    with pytest.raises(UnauthenticatedError):
        await session(accounts, started.token)
    assert (await sign_in(accounts, organization="evil")).session.organization == "evil"
    for slug in ("default", "nowhere", ""):
        if slug:
            with pytest.raises(NotFoundError):
                await switch(accounts, moved.token, slug)
    assert await sign_out(accounts, moved.token, everywhere=True) == 2


async def test_another_organisations_password_opens_only_that_one(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil")
    await set_password(accounts, Identity(ANN.subject, "evil", ("creator",)), by=EVIL_ADMIN)
    assert isinstance(await refusal(accounts, organization="uni"), UnauthenticatedError)
    started = await sign_in(accounts)
    assert started.session.organization == "evil"
    with pytest.raises(NotFoundError):
        await switch(accounts, started.token, "uni")
    await set_password(accounts, password=OTHER_PASSWORD)
    home = await sign_in(accounts, password=OTHER_PASSWORD)
    assert home.session.organization == "uni"
    await set_password(
        accounts, Identity(ANN.subject, "evil", ("creator",)), PASSWORD, by=EVIL_ADMIN
    )
    assert (await session(accounts, home.token)).id
    assert await sign_out(accounts, (await sign_in(accounts, organization="evil")).token) == 1


async def test_administrators_of_the_home_gain_nothing_elsewhere(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil")
    await set_password(accounts, by=UNI_ADMIN)
    assert isinstance(await refusal(accounts, organization="evil"), UnauthenticatedError)
    started = await sign_in(accounts)
    assert started.session.organization == "uni"
    with pytest.raises(NotFoundError):
        await switch(accounts, started.token, "evil")


async def test_who_is_disabled_at_home_is_signed_out_everywhere(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil")
    await set_password(accounts)
    token = (await sign_in(accounts, organization="evil")).token
    await accounts.user(ANN.subject, "uni", disabled=True)
    with pytest.raises(UnauthenticatedError):
        await session(accounts, token)
    assert isinstance(await refusal(accounts, organization="evil"), UnauthenticatedError)


async def test_who_leaves_an_organisation_loses_sessions_and_password(accounts: Accounts) -> None:
    await set_password(accounts)
    token = (await sign_in(accounts)).token
    await accounts.user(ANN.subject, "evil")
    with pytest.raises(UnauthenticatedError):
        await session(accounts, token)
    assert isinstance(await refusal(accounts), UnauthenticatedError)


async def test_operators_do_everything_in_their_own_organisation(database_url: str) -> None:
    root = Identity("Root@Heddle.example", "default", ("creator",))
    async with serving(database_url, operators=[root.subject]) as accounts:
        await accounts.put("uni")
        await accounts.user(root.subject, "default", role="admin")
        head = Identity("head@heddle.example", "default", ("organization_admin",))
        await set_password(accounts, root)
        started = await sign_in(accounts, root)
        assert list(started.session.scopes) == ["admin"]
        with pytest.raises(PermissionDeniedError):
            await set_password(accounts, root, OTHER_PASSWORD, by=head)
        await _add(accounts, root, "uni")
        assert not (await switch(accounts, started.token, "uni")).session.scopes


@pytest.mark.parametrize("identity", [ADMIN, UNI_ADMIN, ANN])
async def test_only_services_handle_sessions(accounts: Accounts, identity: Identity) -> None:
    requests: dict[str, Any] = {
        "SignIn": pb.SignInRequest(email=ANN.subject, password=PASSWORD),
        "SignInWithProvider": pb.SignInWithProviderRequest(email=ANN.subject, provider="p"),
        "ResolveSession": pb.ResolveSessionRequest(token="hs_"),
        "SwitchSession": pb.SwitchSessionRequest(token="hs_", organization="uni"),
        "EndSession": pb.EndSessionRequest(token="hs_"),
        "ListMemberships": pb.ListMembershipsRequest(email=ANN.subject),
    }
    for method, request in requests.items():
        with pytest.raises(PermissionDeniedError):
            await accounts.call(method, request, identity)


async def test_an_address_of_a_provider_signs_in_as_its_user(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil")
    started = await from_provider(accounts, "Ann@Uni.example")
    assert (started.session.organization, started.session.method) == ("uni", "oidc:sso")
    assert (await switch(accounts, started.token, "evil")).session.organization == "evil"
    only = await from_provider(accounts, ANN.subject, organizations=["evil"])
    assert only.session.organization == "evil"
    with pytest.raises(NotFoundError):
        await switch(accounts, only.token, "uni")


async def test_a_provider_signs_in_only_users_that_it_may(accounts: Accounts) -> None:
    await accounts.user(BEN.subject, "uni", disabled=True)
    new = {"new_user": pb.NewUser(organization="evil", role="member")}
    refused: list[tuple[str, dict[str, Any]]] = [
        (BEN.subject, {}),
        (BEN.subject, new),
        (NOBODY.subject, {}),
        (ANN.subject, {"organizations": ["evil"]}),
        (ANN.subject, {"organization": "evil"}),
    ]
    for email, fields in refused:
        with pytest.raises(UnauthenticatedError):
            await from_provider(accounts, email, **fields)


async def test_a_provider_creates_a_user_once_where_it_may(accounts: Accounts) -> None:
    new = pb.NewUser(organization="uni", role="member", name="New")
    started = await from_provider(accounts, "new@uni.example", new_user=new)
    assert (started.session.role, started.session.name) == ("member", "New")
    await accounts.user("new@uni.example", "uni", role="creator")
    again = await from_provider(accounts, "new@uni.example", new_user=new)
    assert again.session.role == "creator"
    for user, organizations_ in (
        (pb.NewUser(organization="uni", role="admin"), []),
        (pb.NewUser(organization="uni"), ["evil"]),
    ):
        with pytest.raises(InvalidRequestError):
            await from_provider(
                accounts, "x@uni.example", new_user=user, organizations=organizations_
            )


async def test_a_session_that_a_password_change_overtakes_does_not_start(
    accounts: Accounts,
) -> None:
    """A session that starts with the former password, after the change, would outlive it."""
    await set_password(accounts)
    for _ in range(5):
        results = await asyncio.gather(
            sign_in(accounts),
            set_password(accounts, password=f"new {PASSWORD}"),
            return_exceptions=True,
        )
        if isinstance(results[0], pb.SignInResponse):
            with pytest.raises(UnauthenticatedError):
                await session(accounts, results[0].token)
        await set_password(accounts)


async def test_memberships_are_those_in_which_a_user_can_act(accounts: Accounts) -> None:
    await _add(accounts, ANN, "evil", role="admin")
    await _add(accounts, ANN, "default", disabled=True)
    request = pb.ListMembershipsRequest(email=ANN.subject)
    response = await accounts.call("ListMemberships", request, SERVICE)
    assert [(each.organization, each.role) for each in response.memberships] == [
        ("uni", "member"),
        ("evil", "admin"),
    ]


async def _add(accounts: Accounts, user: Identity, organization: str, **more: Any) -> None:
    """Make a user one of another organisation, as its administrators do."""
    request = pb.PutUserRequest(email=user.subject, organization=organization, **more)
    by = Identity("boss", organization, ("organization_admin",))
    await accounts.call("PutUser", request, by)


def test_a_hash_costs_what_owasp_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    make_real(monkeypatch)
    costly = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
    assert not password_hashes.is_outdated(costly.hash(PASSWORD))
