"""Who may call what: every call that takes an id or a slug, by everybody."""

from collections.abc import Callable
from typing import Any

import pytest
from assistants.accounts.conftest import (
    ADMIN,
    ANN,
    BEN,
    EVE,
    EVIL_ADMIN,
    SERVICE,
    STRANGER,
    UNI_ADMIN,
    Accounts,
)
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import HeddleError, UnauthenticatedError
from heddle_runtime.identity.callers import NO_IDENTITY, Identity

EVERYBODY = {
    "admin": ADMIN,
    "uni's admin": UNI_ADMIN,
    "owner": ANN,
    "colleague": BEN,
    "evil's admin": EVIL_ADMIN,
    "evil's user": EVE,
    "service": SERVICE,
    "stranger": STRANGER,
    # Another installation's names prove nothing here.
    "namesake elsewhere": Identity(ANN.subject, "evil", ("creator",)),
    "key of uni": Identity("key:0123456789abcdef", "uni"),
}
Request = Callable[[str, str], Any]
"""Makes a request of a key's id and a slug."""
CALLS: dict[str, tuple[str, Request, set[str]]] = {
    "revoke": (
        "RevokeKey",
        lambda key, _: pb.RevokeKeyRequest(id=key),
        {"admin", "uni's admin", "owner"},
    ),
    "get": (
        "GetOrganization",
        lambda _, slug: pb.GetOrganizationRequest(slug=slug),
        {"admin", "uni's admin"},
    ),
    "replace": (
        "PutOrganization",
        lambda _, slug: pb.PutOrganizationRequest(
            organization=pb.Organization(slug=slug, name="New"), etag="ETAG"
        ),
        {"admin", "uni's admin"},
    ),
    "put user": (
        "PutUser",
        lambda _, slug: pb.PutUserRequest(email="new@uni.example", organization=slug),
        {"admin", "uni's admin"},
    ),
    "create key of the organisation": (
        "CreateKey",
        lambda _, slug: pb.CreateKeyRequest(key=pb.Key(name="k", organization=slug)),
        {"admin", "uni's admin"},
    ),
    "create key of the owner": (
        "CreateKey",
        lambda _, slug: pb.CreateKeyRequest(
            key=pb.Key(name="k", organization=slug, user=ANN.subject)
        ),
        {"admin", "uni's admin", "owner"},
    ),
    "resolve settings": (
        "ResolveSettings",
        lambda _, slug: pb.ResolveSettingsRequest(organization=slug),
        {"service"},
    ),
    "resolve the owner's settings": (
        "ResolveSettings",
        lambda _, __: pb.ResolveSettingsRequest(owner=ANN.subject),
        {"service"},
    ),
    "resolve collections": (
        "ResolveCollections",
        lambda _, slug: pb.ResolveCollectionsRequest(ids=["1"], organization=slug),
        {"service"},
    ),
}


async def outcome(accounts: Accounts, method: str, request: Any, identity: Identity) -> str:
    try:
        await accounts.call(method, request, identity)
    except HeddleError as error:
        return f"{error.reason}: {error.message}"
    return "allowed"


@pytest.mark.parametrize("name", CALLS)
async def test_only_who_may_may(accounts: Accounts, name: str) -> None:
    method, make, allowed = CALLS[name]
    found = set()
    for who, identity in EVERYBODY.items():
        key = (await accounts.key(user=ANN.subject)).key.id
        request = make(key, "uni")
        if method == "PutOrganization":
            request.etag = (await accounts.organization("uni")).etag
        if await outcome(accounts, method, request, identity) == "allowed":
            found.add(who)
    assert found == allowed


@pytest.mark.parametrize("name", CALLS)
async def test_what_is_forbidden_is_answered_like_what_is_not_there(
    accounts: Accounts, name: str
) -> None:
    method, make, _ = CALLS[name]
    key = (await accounts.key(user=ANN.subject)).key.id
    foreign = (EVE, EVIL_ADMIN, STRANGER, EVERYBODY["namesake elsewhere"])
    for identity in foreign:
        there = await outcome(accounts, method, make(key, "uni"), identity)
        missing = await outcome(accounts, method, make("f" * 16, "nil"), identity)
        assert there.replace(key, "f" * 16).replace("'uni'", "'nil'") == missing
        assert there != "allowed"


@pytest.mark.parametrize(
    ("identity", "keys", "organizations"),
    [
        (ADMIN, 3, ["default", "evil", "uni"]),
        (UNI_ADMIN, 2, ["uni"]),
        (ANN, 1, []),
        (BEN, 0, []),
        (EVIL_ADMIN, 1, ["evil"]),
        (EVE, 0, []),
        (STRANGER, 0, []),
        (EVERYBODY["namesake elsewhere"], 0, []),
        (SERVICE, 0, []),
    ],
)
async def test_lists_hold_what_one_may_see(
    accounts: Accounts, identity: Identity, keys: int, organizations: list[str]
) -> None:
    await accounts.key(user=ANN.subject)
    await accounts.key()
    await accounts.key(organization="evil")
    listed = await accounts.call("ListKeys", pb.ListKeysRequest(), identity)
    assert len(listed.keys) == keys
    found = await accounts.call("ListOrganizations", pb.ListOrganizationsRequest(), identity)
    assert [item.slug for item in found.organizations] == organizations


async def test_only_the_operator_brings_somebody_over_from_another_organisation(
    accounts: Accounts,
) -> None:
    request = pb.PutUserRequest(email=EVE.subject, organization="uni")
    key = (await accounts.key(user=EVE.subject, organization="evil")).secret
    assert await outcome(accounts, "PutUser", request, UNI_ADMIN) == "allowed"
    assert (await accounts.whose(key)).organization == "evil"
    assert (await accounts.settings(owner=EVE.subject)).organization == "evil"
    assert await outcome(accounts, "PutUser", request, ADMIN) == "allowed"
    assert (await accounts.settings(owner=EVE.subject)).organization == "uni"
    with pytest.raises(UnauthenticatedError):
        await accounts.whose(key)


@pytest.mark.parametrize(
    ("email", "role"),
    [
        ("anonymous", ""),
        ("key:0123", ""),
        ("a b@uni.example", ""),
        ("a@uni.example\n", ""),
        ("a@b@uni.example", ""),
        (f"{'a' * 65}@uni.example", ""),
        ("a@uni.example", "owner"),
    ],
)
async def test_what_is_no_user_is_refused(accounts: Accounts, email: str, role: str) -> None:
    request = pb.PutUserRequest(email=email, organization="uni", role=role)
    assert (await outcome(accounts, "PutUser", request, ADMIN)).startswith("INVALID_REQUEST")


@pytest.mark.parametrize("method", ["ListKeys", "ListOrganizations"])
async def test_a_token_of_no_identity_opens_nothing(accounts: Accounts, method: str) -> None:
    request = getattr(pb, f"{method}Request")()
    with pytest.raises(UnauthenticatedError):
        await accounts.call(method, request, NO_IDENTITY)
