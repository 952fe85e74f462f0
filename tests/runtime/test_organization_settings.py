"""`heddle_runtime.rpc.organization_settings`."""

import asyncio

import pytest
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.organization_settings import ACCOUNTS, OrganizationSettings, account_stub
from pydantic import SecretStr
from runtime.accounts import SECRET, Accounts, serving_accounts

ANN = Identity("ann@uni.example", "uni")


@pytest.fixture
def accounts() -> Accounts:
    owners = {ANN.subject: "uni", "eve@evil.example": "evil"}
    made = Accounts(owners=owners)  # type: ignore[abstract] # it does not offer every method
    for slug in ("uni", "evil"):
        made.add(slug, default_model=f"{slug}/model")
    return made


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(
    ("organization", "owner", "expected"),
    [
        ("uni", "", "uni"),
        ("uni", ANN.subject, "uni"),
        ("uni", "eve@evil.example", "uni"),  # a name proves nothing in another organisation
        ("", ANN.subject, "uni"),
        ("nowhere", ANN.subject, ""),
        ("", "", "operator"),
        ("", "nobody@uni.example", "operator"),
    ],
)
async def test_an_assistant_works_with_its_own_organisations_settings(
    accounts: Accounts, organization: str, owner: str, expected: str, *, local: bool
) -> None:
    async with (
        serving_accounts(accounts) as service,
        channel(service.address, ACCOUNTS, secret=SecretStr(SECRET)) as wire,
    ):
        CALLER.set(Caller("req_1", ANN))
        settings = OrganizationSettings(
            account_stub(service.local if local else wire),
            ServiceCredentials("heddle-test"),
        )
        found = await settings.of(organization, owner)
        again = await settings.of(organization, owner)
    assert found == again
    assert len(accounts.asked) == len(set(accounts.asked))
    assert set(accounts.callers) <= {Identity("heddle-test", scopes=("service",))}
    if expected == "operator":
        assert found == pb.ResolveSettingsResponse(system=True)
    else:
        assert (found.organization, found.system) == (expected, False)


async def test_what_names_no_organisation_is_at_home_in_the_default_one(
    accounts: Accounts,
) -> None:
    accounts.add("default", default_model="a/b", system=True)
    async with serving_accounts(accounts) as service:
        settings = OrganizationSettings(
            account_stub(service.local), ServiceCredentials("heddle-test")
        )
        for owner in ("", "operator"):
            assert (await settings.of("", owner)).default_model == "a/b"


@pytest.mark.parametrize(
    ("organization", "owner", "number"),
    [
        ("uni", ANN.subject, 7),
        ("", ANN.subject, 7),
        ("evil", ANN.subject, None),  # a namesake
        ("evil", "eve@evil.example", None),
        ("uni", "nobody@uni.example", None),
        ("uni", "", None),
        ("", "", None),
    ],
)
async def test_an_owners_number_is_the_owners_alone(
    accounts: Accounts, organization: str, owner: str, number: int | None
) -> None:
    accounts.numbers = {ANN.subject: 7}
    async with serving_accounts(accounts) as service:
        settings = OrganizationSettings(
            account_stub(service.local), ServiceCredentials("heddle-test")
        )
        assert await settings.number(organization, owner) == number


async def test_a_failure_is_told_and_forgotten(accounts: Accounts) -> None:
    accounts.failure = UnavailableError("down")
    async with serving_accounts(accounts) as service:
        settings = OrganizationSettings(
            account_stub(service.local), ServiceCredentials("heddle-test")
        )
        with pytest.raises(UnavailableError):
            await asyncio.gather(*(settings.of("uni", "") for _ in range(3)))
        accounts.failure = None
        assert (await settings.of("uni", "")).organization == "uni"
