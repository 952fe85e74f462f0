"""For how many days organisations store data: what they may set, and what services read."""

import json
from typing import Any

import pytest
from assistants.accounts.conftest import ADMIN, ANN, SERVICE, UNI_ADMIN, Accounts
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.database.schema import organizations
from heddle_runtime.errors import InvalidRequestError, PermissionDeniedError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import update

DAYS = {"uploads_days": 30, "images_days": 1, "usage_days": 36_500}


async def limits(accounts: Accounts) -> list[pb.Retention]:
    response = await accounts.call("ListRetention", pb.ListRetentionRequest(), SERVICE)
    return list(response.retention)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (30, "must be an object"),
        ({"uploads": 30}, "'uploads' is not one of uploads_days, images_days, usage_days"),
        ({"uploads_days": 0}, "'uploads_days' must be a whole number from 1 to 36,500"),
        ({"images_days": 36_501}, "'images_days' must be"),
        ({"usage_days": True}, "'usage_days' must be"),
        ({"usage_days": "30"}, "'usage_days' must be"),
        ({"usage_days": 1.5}, "'usage_days' must be"),
        ({"usage_days": None}, "'usage_days' must be"),
    ],
)
async def test_a_limit_that_would_not_apply_is_refused(
    accounts: Accounts, setting: object, problem: str
) -> None:
    before = await accounts.organization("uni")
    for settings in ({"retention": setting}, {"setups": {"default": {"retention": setting}}}):
        with pytest.raises(InvalidRequestError) as refused:
            await accounts.replace("uni", json.dumps(settings))
        [violation] = refused.value.violations
        assert violation.field == "organization.settings_json"
        assert f"'retention': {problem}" in violation.description
    assert await accounts.organization("uni") == before


@pytest.mark.parametrize("place", ["{}", '{{"setups": {{"default": {}}}}}'])
async def test_services_read_the_limits_of_organisations_that_have_some(
    accounts: Accounts, place: str
) -> None:
    await accounts.replace("uni", place.format(json.dumps({"retention": DAYS})))
    await accounts.replace("evil", json.dumps({"retention": {}}))
    assert await limits(accounts) == [pb.Retention(organization="uni", **DAYS)]
    await accounts.replace("uni", "{}")
    assert await limits(accounts) == []


async def test_a_limit_that_a_foreign_row_has_wrong_deletes_nothing(
    accounts: Accounts, database: Database
) -> None:
    config = json.dumps({"retention": {"uploads_days": -1, "images_days": "1", "usage_days": 7}})
    async with database.writing() as connection:
        row = update(organizations).where(organizations.c.slug == "uni")
        await connection.execute(row.values(config=config, status="suspended"))
    assert await limits(accounts) == [pb.Retention(organization="uni", usage_days=7)]


@pytest.mark.parametrize("identity", [ADMIN, UNI_ADMIN, ANN])
async def test_only_services_list_limits(accounts: Accounts, identity: Any) -> None:
    with pytest.raises(PermissionDeniedError):
        await accounts.call("ListRetention", pb.ListRetentionRequest(), identity)
