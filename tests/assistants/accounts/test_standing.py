"""What somebody is to an organisation."""

import pytest
from assistants.accounts.conftest import (
    ADMIN,
    ANN,
    BEN,
    EVE,
    EVIL_ADMIN,
    SERVICE,
    UNI_ADMIN,
    Accounts,
)
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from heddle_runtime.identity.callers import Identity


@pytest.mark.parametrize(
    ("email", "organization", "expected"),
    [
        (ANN.subject, "uni", pb.STANDING_USER),
        (BEN.subject, "uni", pb.STANDING_DISABLED),
        (BEN.subject, "evil", pb.STANDING_UNSPECIFIED),
        (BEN.subject, "default", pb.STANDING_DISABLED),
        (EVE.subject, "uni", pb.STANDING_UNSPECIFIED),
        (EVE.subject, "default", pb.STANDING_UNSPECIFIED),
        ("nobody@uni.example", "uni", pb.STANDING_UNSPECIFIED),
        (ANN.subject, "nowhere", pb.STANDING_UNSPECIFIED),
        ("' OR '1'='1", "uni", pb.STANDING_UNSPECIFIED),
    ],
)
async def test_an_organisation_learns_of_its_own_users_and_the_operators_of_all_disabled_ones(
    accounts: Accounts, email: str, organization: str, expected: pb.Standing.ValueType
) -> None:
    await accounts.user(BEN.subject, "uni", disabled=True)
    request = pb.ResolveUserRequest(email=email, organization=organization)
    assert (await accounts.call("ResolveUser", request, SERVICE)).standing == expected


@pytest.mark.parametrize(
    "spelling",
    [
        *("ben@uni.example", "BEN@UNI.EXAMPLE", "\uff42en@uni.example", "ben@uni\uff0eexample"),
        *("ben@uni.example ", " ben@uni.example", "ben@uni.example\u00a0", "ben@uni.example\t"),
        *("ben\u200b@uni.example", "ben@uni.ex\u00adample", "\ufeffben@uni.example"),
    ],
)
async def test_a_user_is_disabled_whatever_the_spelling_of_the_address(
    accounts: Accounts, spelling: str
) -> None:
    await accounts.user("Ben@Uni.Example", "uni", disabled=True)
    for organization in ("uni", "default"):
        request = pb.ResolveUserRequest(email=spelling, organization=organization)
        response = await accounts.call("ResolveUser", request, SERVICE)
        assert response.standing == pb.STANDING_DISABLED


@pytest.mark.parametrize("other", ["b.en@uni.example", "ben+x@uni.example", "b\u00e9n@uni.example"])
async def test_another_address_is_another_user(accounts: Accounts, other: str) -> None:
    await accounts.user("ben@uni.example", "uni", disabled=True)
    request = pb.ResolveUserRequest(email=other, organization="uni")
    response = await accounts.call("ResolveUser", request, SERVICE)
    assert response.standing == pb.STANDING_UNSPECIFIED


async def test_administrators_of_an_organisation_lock_nobody_out_of_others(
    accounts: Accounts,
) -> None:
    outsider = "zoe@elsewhere.example"
    for email in (outsider, ANN.subject):
        user = pb.PutUserRequest(email=email, organization="evil", disabled=True)
        await accounts.call("PutUser", user, EVIL_ADMIN)
    standings = {}
    for email in (outsider, ANN.subject):
        for organization in ("default", "uni", "evil"):
            request = pb.ResolveUserRequest(email=email, organization=organization)
            response = await accounts.call("ResolveUser", request, SERVICE)
            standings[email, organization] = response.standing
    assert standings == {
        (outsider, "default"): pb.STANDING_UNSPECIFIED,
        (outsider, "uni"): pb.STANDING_UNSPECIFIED,
        (outsider, "evil"): pb.STANDING_DISABLED,
        (ANN.subject, "default"): pb.STANDING_UNSPECIFIED,
        (ANN.subject, "uni"): pb.STANDING_USER,
        (ANN.subject, "evil"): pb.STANDING_DISABLED,
    }
    assert (await accounts.settings(owner=ANN.subject)).organization == "uni"
    assert (await accounts.settings(owner=outsider)).organization == ""


async def test_administrators_of_an_organisation_reserve_no_address(accounts: Accounts) -> None:
    newcomer = "new@uni.example"
    await accounts.call(
        "PutUser", pb.PutUserRequest(email=newcomer, organization="evil"), EVIL_ADMIN
    )
    await accounts.call("PutUser", pb.PutUserRequest(email=newcomer, organization="uni"), UNI_ADMIN)
    assert (await accounts.key(user=newcomer)).key.user == newcomer
    await accounts.user(newcomer, "uni")
    assert (await accounts.settings(owner=newcomer)).organization == "uni"
    settings = await accounts.settings(owner=newcomer, organization="evil")
    assert settings.organization == "evil"


@pytest.mark.parametrize("identity", [ADMIN, UNI_ADMIN, ANN])
async def test_only_services_ask_who_somebody_is(accounts: Accounts, identity: Identity) -> None:
    request = pb.ResolveUserRequest(email=ANN.subject, organization="uni")
    with pytest.raises(PermissionDeniedError):
        await accounts.call("ResolveUser", request, identity)


async def test_a_question_names_both(accounts: Accounts) -> None:
    with pytest.raises(InvalidRequestError):
        await accounts.call("ResolveUser", pb.ResolveUserRequest(email="a@b"), SERVICE)


async def test_a_user_has_one_number(accounts: Accounts) -> None:
    await accounts.user(BEN.subject, "uni", disabled=True)
    for identity, disabled in ((ANN, False), (BEN, True), (EVE, False)):
        settings = await accounts.settings(
            owner=identity.subject, organization=identity.organization
        )
        request = pb.ResolveUserNumberRequest(number=settings.user_id)
        assert await accounts.call(
            "ResolveUserNumber", request, SERVICE
        ) == pb.ResolveUserNumberResponse(
            email=identity.subject,
            organization=identity.organization,
            disabled=disabled,
            role="member",
        )
    for number in (-1, 999, 2**63 - 1):
        with pytest.raises(NotFoundError):
            await accounts.call(
                "ResolveUserNumber", pb.ResolveUserNumberRequest(number=number), SERVICE
            )
    for caller in (ADMIN, UNI_ADMIN, ANN):
        with pytest.raises(PermissionDeniedError):
            await accounts.call("ResolveUserNumber", pb.ResolveUserNumberRequest(number=1), caller)


async def test_settings_come_without_servers_where_nobody_needs_them(accounts: Accounts) -> None:
    settings = (
        '{"setups": {"default": {"providers": {"openai": {"api_key": "sk-uni"}},'
        ' "small_fast_model": {"provider": "openai", "model": "tiny"}}},'
        ' "kb_server": {"url": "http://kb.uni.example", "token": "kb-secret"},'
        ' "moodle": {"url": "http://moodle.uni.example", "token": "m-secret"}}'
    )
    await accounts.replace("uni", settings)
    found = await accounts.settings(organization="uni", without_servers=True)
    assert (found.organization, found.small_model) == ("uni", "openai/tiny")
    assert "secret" not in str(found)
    assert {field.name for field, _ in found.ListFields()} == {
        *("organization", "small_model", "etag"),
    }
    assert (await accounts.settings(organization="uni")).providers["openai"].api_key == "sk-uni"
