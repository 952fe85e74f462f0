"""`UsageService`: recorded once, exact, with the prices of then; and what quotas see of it."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, SERVICE, Service, serving
from assistants.stored import LEGACY, keep
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_assistants.database.schema import organizations, usage_recorders
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, update
from structlog.testing import capture_logs

MINI = "openai", "gpt-4o-mini"
PRICES = {
    "openai/gpt-4o-mini": {"input": 0.15, "cached_input": 0.075, "output": 0.6},
    "openai/o*": {"input": 15, "output": 60},
}
QUOTA = {**LEGACY, "quota": {"enabled": True, "cost_limit_usd": 5.0, "period": "year"}}


def entry(
    number: int, assistant: str, model: tuple[str, str] = MINI, **counts: int
) -> pb.UsageEntry:
    """Return an entry, by default of one answer."""
    return pb.UsageEntry(
        number=number,
        assistant_id=assistant,
        model=assistant_pb2.ModelRef(connector=model[0], model=model[1]),
        counts=pb.Counts(**{"requests": 1, **counts}),
    )


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A file of prices."""
    file = tmp_path / "prices.json"
    write(file, PRICES)
    return file


def write(file: Path, prices: object) -> None:
    """Write a file of prices."""
    file.write_text(json.dumps(prices))


@pytest.fixture
async def priced(database_url: str, prices: Path) -> AsyncIterator[Service]:
    """A service that knows prices."""
    async with serving(database_url, prices=prices) as running:
        yield running


async def put(service: Service, slug: str, settings: dict[str, Any]) -> None:
    """Set an organisation up that exists already."""
    caller = service.as_(ADMIN)
    stub = account_pb2_grpc.AccountServiceStub(service.connection)
    known = await caller.ask(stub.GetOrganization, account_pb2.GetOrganizationRequest(slug=slug))
    given = account_pb2.Organization(slug=slug, settings_json=json.dumps(settings))
    request = account_pb2.PutOrganizationRequest(organization=given, etag=known.etag)
    await caller.ask(stub.PutOrganization, request)


async def test_what_is_recorded_adds_up_by_model(priced: Service, database: Database) -> None:
    number = await keep(database)
    service, ada = priced.as_(SERVICE), priced.as_(ADA)
    assert (await ada.used(number)).cost_micros == 0

    await service.consume(
        "r",
        [
            entry(1, number, prompt_tokens=1000, cached_tokens=400, completion_tokens=100),
            entry(2, number, ("openai", "o1"), prompt_tokens=1, completion_tokens=1),
            entry(3, number, requests=2, usage_unknown=1, prompt_tokens=1),
        ],
    )
    await service.consume("r", [entry(4, number, ("ollama", "x"), prompt_tokens=7)])

    used = await ada.used(number)
    assert (used.assistant_id, used.name, used.owner, used.organization) == (
        *(number, "1_tutor"),
        *(ADA.subject, "uni"),
    )
    assert [(each.model.connector, each.model.model) for each in used.models] == [
        ("ollama", "x"),
        MINI,
        ("openai", "o1"),
    ]
    free, mini, dear = used.models
    assert free == pb.ModelUsage(
        model=free.model, counts=pb.Counts(requests=1, prompt_tokens=7), unpriced_tokens=7
    )
    assert mini.counts == pb.Counts(
        requests=3,
        usage_unknown=1,
        prompt_tokens=1001,
        cached_tokens=400,
        completion_tokens=100,
    )
    # 600 x 0.15 + 400 x 0.075 + 100 x 0.6 + 1 x 0.15, rounded up
    assert (mini.cost_micros, mini.unpriced_tokens) == (181, 0)
    assert dear.cost_micros == 75
    assert used.cost_micros == 256  # 255.15
    assert not used.HasField("quota")


async def test_what_is_sent_again_counts_once(priced: Service, database: Database) -> None:
    number = await keep(database)
    service = priced.as_(SERVICE)
    flush = [entry(1, number, prompt_tokens=1), entry(2, number, prompt_tokens=10)]
    for _ in range(3):
        await service.consume("r", flush)
    await service.consume("r", [*flush, entry(3, number, prompt_tokens=100)])
    await service.consume("another", [entry(1, number, prompt_tokens=1000)])
    [model] = (await priced.as_(ADA).used(number)).models
    assert model.counts == pb.Counts(requests=4, prompt_tokens=1111)


async def test_entries_of_unknown_assistants_are_passed_over(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    number = await keep(database)
    document = f"id: '{number}'\nname: f\nmodel: {{connector: c, model: m}}\n"
    (tmp_path / "f.yaml").write_text(document)
    async with serving(database_url, folder=tmp_path) as service:
        ids = ("file", "987654", f"file-{number}", number)
        entries = [entry(at, each, prompt_tokens=1) for at, each in enumerate(ids, start=1)]
        await service.as_(SERVICE).consume("r", entries)
        admin = service.as_(ADMIN)
        assert [each.assistant_id for each in (await admin.all_used()).assistants] == [number]
        with pytest.raises(NotFoundError, match="comes from a file"):
            await admin.used(f"file-{number}")


@pytest.mark.parametrize(
    ("recorder", "entries", "field"),
    [
        ("", [entry(1, "1")], "recorder"),
        ("r" * 65, [entry(1, "1")], "recorder"),
        ("r\0", [entry(1, "1")], "recorder"),
        ("r", [entry(1, "1"), entry(0, "1")], "entries[1].number"),
        ("r", [entry(1, "1", prompt_tokens=-1)], "entries[0].counts"),
        ("r", [entry(1, "1", requests=10**12 + 1)], "entries[0].counts"),
        ("r", [entry(1, "1", cached_tokens=1)], "entries[0].counts.cached_tokens"),
        ("r", [entry(1, "1")] * 5001, "entries"),
    ],
)
async def test_wrong_usage_is_refused_whole(
    embedded: Service, recorder: str, entries: Sequence[pb.UsageEntry], field: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await embedded.as_(SERVICE).consume(recorder, entries)
    assert [violation.field for violation in refused.value.violations] == [field]


async def test_only_services_record(embedded: Service) -> None:
    for identity in (ADA, ADMIN):
        with pytest.raises(PermissionDeniedError, match="own services"):
            await embedded.as_(identity).consume("r", [entry(1, "1")])


async def test_odd_names_of_models_cost_nobody_anything(
    priced: Service, database: Database
) -> None:
    number = await keep(database)
    odd = entry(1, number, ("openai", "o\0" + "m" * 10_000), prompt_tokens=1)
    await priced.as_(SERVICE).consume("r", [odd, entry(2, number, prompt_tokens=1)])
    used = await priced.as_(ADA).used(number)
    assert [each.model.model for each in used.models] == ["gpt-4o-mini", "o" + "m" * 199]


async def test_an_organisations_prices_come_before_those_of_the_file(
    priced: Service, database: Database
) -> None:
    number = await keep(database)
    own = {
        "openai/gpt-4o-mini": {"input": 1, "output": 1},
        "x/my-secret": {"input": 2, "output": 2},
    }
    await put(priced, "uni", {"setups": {"default": {"prices": own}}})
    await priced.as_(SERVICE).consume(
        "r",
        [
            entry(1, number, prompt_tokens=10),
            entry(2, number, ("openai", "o1"), prompt_tokens=10),
            entry(3, number, ("x", "my-secret"), prompt_tokens=10),
        ],
    )
    used = await priced.as_(ADA).used(number)
    assert [each.cost_micros for each in used.models] == [10, 150, 20]
    query = select(organizations.c.config).where(organizations.c.slug == "uni")
    async with database.reading() as connection:
        assert "heddle:sealed" in (await connection.execute(query)).scalar_one()


async def test_wrong_prices_of_an_organisation_are_refused(
    embedded: Service,
) -> None:
    admin = embedded.as_(ADMIN)
    stub = account_pb2_grpc.AccountServiceStub(embedded.connection)
    settings = {"setups": {"default": {"prices": {"openai/x": {"input": -1, "output": 1}}}}}
    given = account_pb2.Organization(slug="uni", settings_json=json.dumps(settings))
    with pytest.raises(InvalidRequestError) as refused:
        await admin.ask(
            stub.PutOrganization, account_pb2.PutOrganizationRequest(organization=given)
        )
    [violation] = refused.value.violations
    assert "'prices': 'openai/x' has a wrong 'input'" in violation.description


async def test_wrong_prices_that_are_kept_count_as_none(
    priced: Service, database: Database
) -> None:
    number = await keep(database)
    wrong = {"openai/gpt-4o-mini": {"input": "?"}, "openai/o1": {"input": 1, "output": 1}}
    config = json.dumps({"setups": {"default": {"prices": wrong}}})
    async with database.writing() as connection:
        await connection.execute(update(organizations).values(config=config))
    with capture_logs() as logs:
        await priced.as_(SERVICE).consume(
            "r",
            [
                entry(1, number, prompt_tokens=10),
                entry(2, number, ("openai", "o1"), prompt_tokens=9),
            ],
        )
    assert (await priced.as_(ADA).used(number)).cost_micros == 11  # 1.5 of the file and 9
    assert [each["names"] for each in logs if each["event"] == "prices are wrong"] == [
        ["openai/gpt-4o-mini"]
    ]


async def test_a_service_with_wrong_prices_does_not_start(prices: Path, database_url: str) -> None:
    write(prices, {"gpt-4o": {}})
    with pytest.raises(ValueError, match="HEDDLE_ASSISTANTS_PRICES"):
        async with serving(database_url, prices=prices):
            pass


async def test_a_later_price_changes_nothing_that_was_recorded(
    database_url: str, database: Database, prices: Path
) -> None:
    number = await keep(database)
    async with serving(database_url, prices=prices) as service:
        await service.as_(SERVICE).consume("r", [entry(1, number, prompt_tokens=100)])
    write(prices, {"openai/*": {"input": 100, "output": 100}})
    async with serving(database_url, prices=prices) as service:
        await service.as_(SERVICE).consume("r", [entry(2, number, prompt_tokens=1)])
        assert (await service.as_(ADA).used(number)).cost_micros == 115


async def test_costs_stop_where_nobody_can_pay_them(
    database_url: str, database: Database, prices: Path
) -> None:
    number = await keep(database)
    write(prices, {"openai/*": {"input": 1_000_000, "output": 0}})
    async with serving(database_url, prices=prices) as service:
        for at in (1, 2):
            await service.as_(SERVICE).consume("r", [entry(at, number, prompt_tokens=10**12)])
        used = await service.as_(ADA).used(number)
    assert used.cost_micros == 9 * 10**12
    assert used.models[0].counts.prompt_tokens == 2 * 10**12


async def test_a_quota_comes_along_with_its_assistant(priced: Service, database: Database) -> None:
    number = await keep(database, metadata=json.dumps(QUOTA))
    got = await priced.as_(ADA).get(number)
    price = assistant_pb2.Price(
        input_micros=150_000, cached_input_micros=75_000, output_micros=600_000
    )
    assert got.quota == assistant_pb2.Quota(limit_micros=5_000_000, price=price, priced=True)
    await priced.as_(SERVICE).consume("r", [entry(1, number, completion_tokens=3)])
    assert (await priced.as_(ADA).get(number)).quota.spent_micros == 1  # 1.8
    used = await priced.as_(ADA).used(number)
    assert (used.quota.limit_micros, used.cost_micros) == (5_000_000, 2)
    # What nobody here understands of a quota survives an edit of the limit.
    changed = {**QUOTA["quota"], "cost_limit_usd": 6}  # type: ignore[dict-item] # an object
    await priced.as_(ADMIN).edit(number, metadata_json=json.dumps({"quota": changed}))
    got = await priced.as_(ADA).get(number)
    assert got.quota.limit_micros == 6_000_000
    assert json.loads(got.assistant.extra_json)["quota"]["period"] == "year"


async def test_an_assistant_without_a_quota_has_none(priced: Service, database: Database) -> None:
    number = await keep(database)
    assert not (await priced.as_(ADA).get(number)).HasField("quota")


async def test_lists_are_paged_and_keep_deleted_assistants(
    priced: Service, database: Database
) -> None:
    numbers = [await keep(database, name=f"a{at}") for at in range(3)]
    elsewhere = await keep(database, organization="college", name="c", owner="eve")
    await keep(database, name="unused")
    service, admin, ada = priced.as_(SERVICE), priced.as_(ADMIN), priced.as_(ADA)
    everywhere = [*numbers, elsewhere]
    await service.consume("r", [entry(at + 1, each) for at, each in enumerate(everywhere)])
    request = assistant_pb2.DeleteAssistantRequest(id=numbers[1])
    await ada.ask(ada.assistants.DeleteAssistant, request)

    def ids(page: pb.ListUsageResponse) -> list[str]:
        return [each.assistant_id for each in page.assistants]

    first = await admin.all_used(page_size=3)
    second = await admin.all_used(page_size=3, page_token=first.next_page_token)
    assert (ids(first), ids(second), second.next_page_token) == (numbers, [elsewhere], "")
    assert "_deleted_" in first.assistants[1].name
    assert ids(await admin.all_used(organization="college")) == [elsewhere]
    assert ids(await admin.all_used(organization="nowhere\0")) == []
    assert ids(await ada.all_used()) == [numbers[0], numbers[2]]
    assert ids(await ada.all_used(organization="college")) == []
    with pytest.raises(InvalidRequestError, match="page token"):
        await admin.all_used(page_token="eHg=")


async def test_a_reset_begins_anew(priced: Service, database: Database) -> None:
    number, other = await keep(database), await keep(database, name="other")
    service, admin = priced.as_(SERVICE), priced.as_(ADMIN)
    flush = [entry(1, number, prompt_tokens=10), entry(2, other, prompt_tokens=10)]
    await service.consume("r", flush)
    await admin.reset(number)
    await service.consume("r", flush)
    assert not (await admin.used(number)).models
    assert (await admin.used(other)).cost_micros == 2


async def test_recorders_are_forgotten_when_they_are_long_gone(
    priced: Service, database: Database
) -> None:
    number = await keep(database)
    for recorder in ("gone", "here"):
        await priced.as_(SERVICE).consume(recorder, [entry(1, number)])
    async with database.writing() as connection:
        gone = usage_recorders.c.recorder == "gone"
        await connection.execute(update(usage_recorders).where(gone).values(recorded_at=1))
    await priced.as_(SERVICE).consume("new", [entry(1, number)])
    async with database.reading() as connection:
        known = await connection.execute(select(usage_recorders.c.recorder))
        assert {row.recorder for row in known} == {"here", "new"}


async def test_what_cannot_be_understood_is_reported_without_a_quota(
    priced: Service, database: Database
) -> None:
    number = await keep(database, metadata='not-json{"quota"')
    await priced.as_(SERVICE).consume("r", [entry(1, number, prompt_tokens=10)])
    used = await priced.as_(ADA).used(number)
    assert (used.cost_micros, used.HasField("quota")) == (2, False)
