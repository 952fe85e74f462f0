"""What somebody is to an organisation."""

import pytest
from assistants.accounts.conftest import ADMIN, ANN, BEN, EVE, SERVICE, UNI_ADMIN, Accounts
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, PermissionDeniedError
from heddle_runtime.identity import Identity


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


@pytest.mark.parametrize("identity", [ADMIN, UNI_ADMIN, ANN])
async def test_only_services_ask_who_somebody_is(accounts: Accounts, identity: Identity) -> None:
    request = pb.ResolveUserRequest(email=ANN.subject, organization="uni")
    with pytest.raises(PermissionDeniedError):
        await accounts.call("ResolveUser", request, identity)


async def test_a_question_names_both(accounts: Accounts) -> None:
    with pytest.raises(InvalidRequestError):
        await accounts.call("ResolveUser", pb.ResolveUserRequest(email="a@b"), SERVICE)


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
