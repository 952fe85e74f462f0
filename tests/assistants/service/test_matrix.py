"""Who gets what of whose assistants and rubrics: every call that takes an id, in one table."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import product

import pytest
from assistants.serving import ADA, MODEL, Caller, serving
from assistants.stored import (
    RUBRIC,
    everything,
    keep,
    keep_collection,
    keep_prompt,
    keep_rubric,
    keep_usage,
)
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import prompts_pb2
from heddle.migration.v1 import migration_pb2, record_pb2
from heddle.rubric.v1 import rubric_pb2
from heddle.usage.v1 import usage_pb2
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.callers import DEVELOPER, Identity
from heddle_runtime.storage.database.engine import Database

CALLERS = {
    "owner": ADA,
    "colleague": Identity("bob@uni.example", "uni", ("creator",)),
    "member": Identity("mia@uni.example", "uni"),
    "key of the organisation": Identity("key:1", "uni"),
    "administrator of the organisation": Identity(
        "chair@uni.example", "uni", ("organization_admin",)
    ),
    "owner elsewhere": Identity("eve@college.example", "college", ("creator",)),
    "namesake elsewhere": Identity(ADA.subject, "college", ("creator",)),
    "namesake nowhere": Identity(ADA.subject, scopes=("creator",)),
    "administrator elsewhere": Identity("dean@college.example", "college", ("organization_admin",)),
    "service": Identity("orchestrator", "", ("service",)),
    "administrator": Identity("root@heddle.example", "main", ("admin",)),
    "developer": DEVELOPER,
}
MAY_CHANGE = {"owner", "administrator of the organisation", "administrator", "developer"}
MAY_USE = MAY_CHANGE | {"service"}
MAY_USE_PUBLISHED = MAY_USE | {"colleague", "member", "key of the organisation"}
MAY_ADMINISTER = {"administrator", "developer"}
MAY_READ_PUBLIC = MAY_CHANGE | {"colleague", "member", "key of the organisation"}
CREATE_NOTHING = {"member", "key of the organisation", "service"}
MAY_SERVE = {"service"}
MAY_RECORD = {"service"}
MAY_RESET = MAY_ADMINISTER | {"administrator of the organisation"}
ONE = usage_pb2.Counts(requests=1)

Call = Callable[[Caller, str], Awaitable[object]]
USE: dict[str, Call] = {
    "GetAssistant": lambda caller, number: caller.get(number),
    "GetAssistant by name": lambda caller, number: caller.get(f"LAMB:a{number}"),
    "GetRecord": lambda caller, number: caller.record(number),
}
CHANGE: dict[str, Call] = {
    "UpdateAssistant": lambda caller, number: caller.update(
        pb.Assistant(id=number, name=f"a{number}", model=MODEL)
    ),
    "UpdateRecord": lambda caller, number: caller.edit(number, description="new"),
    "PublishAssistant": lambda caller, number: caller.ask(
        caller.assistants.PublishAssistant,
        pb.PublishAssistantRequest(id=number, published=True, group_id="g"),
    ),
    "GetUsage": lambda caller, number: caller.used(number),
    "SetQuota": lambda caller, number: caller.ask(
        caller.usage.SetQuota, usage_pb2.SetQuotaRequest(id=number, limit_micros=1)
    ),
    "DeleteAssistant": lambda caller, number: caller.ask(
        caller.assistants.DeleteAssistant, pb.DeleteAssistantRequest(id=number)
    ),
    "UndeleteAssistant": lambda caller, number: caller.ask(
        caller.assistants.UndeleteAssistant, pb.UndeleteAssistantRequest(id=number)
    ),
}
RESET: dict[str, Call] = {"ResetUsage": lambda caller, number: caller.reset(number)}
RECORD: dict[str, Call] = {
    "RecordUsage": lambda caller, number: caller.consume(
        "test",
        [usage_pb2.UsageEntry(number=1, assistant_id=number, model=MODEL, counts=ONE)],
    )
}
ADMINISTER: dict[str, Call] = {
    "ConvertAssistant": lambda caller, number: caller.ask(
        caller.migrations.ConvertAssistant, migration_pb2.ConvertAssistantRequest(id=number)
    ),
    "RunMigration": lambda caller, number: caller.migrate(ids=[number]),
    "RunMigration back": lambda caller, number: caller.roll_back(ids=[number]),
}
READ_RUBRIC: dict[str, Call] = {"GetRubric": lambda caller, number: caller.rubric(number)}
CHANGE_RUBRIC: dict[str, Call] = {
    "UpdateRubric": lambda caller, number: caller.update_rubric(
        rubric_pb2.Rubric(id=number, content_json=RUBRIC, public=True)
    ),
    "DeleteRubric": lambda caller, number: caller.delete_rubric(number),
}
READ_PROMPT: dict[str, Call] = {
    "GetPrompt": lambda caller, number: caller.ask(
        caller.prompts.GetPrompt, prompts_pb2.GetPromptRequest(id=number)
    ),
}
CHANGE_PROMPT: dict[str, Call] = {
    "UpdatePrompt": lambda caller, number: caller.ask(
        caller.prompts.UpdatePrompt,
        prompts_pb2.UpdatePromptRequest(prompt=prompts_pb2.Prompt(id=number, title="New")),
    ),
    "DeletePrompt": lambda caller, number: caller.ask(
        caller.prompts.DeletePrompt, prompts_pb2.DeletePromptRequest(id=number)
    ),
}
SERVE: dict[str, Call] = {
    "GetRubric on behalf of the owner": lambda caller, number: caller.rubric(
        number, rubric_pb2.AssistantOwner(owner=ADA.subject, organization="uni")
    ),
    "ResolveCollections": lambda caller, number: caller.ask(
        caller.accounts.ResolveCollections,
        account_pb2.ResolveCollectionsRequest(ids=[number], owner=ADA.subject, organization="uni"),
    ),
    "ListUsedFiles": lambda caller, number: caller.ask(
        caller.assistants.ListUsedFiles, pb.ListUsedFilesRequest(ids=[number])
    ),
    "UseConfirmation": lambda caller, number: caller.ask(
        caller.assistants.UseConfirmation, pb.UseConfirmationRequest(id=number)
    ),
}
MISSING = "987654"


@pytest.fixture
async def callers(database_url: str) -> AsyncIterator[dict[str, Caller]]:
    """The callers of one service."""
    async with serving(database_url) as service:
        yield {who: service.as_(identity) for who, identity in CALLERS.items()}


def needs_creator(who: str, name: str) -> bool:
    """Return whether a caller lacks the role for a call, whatever it names."""
    needs = CHANGE | CHANGE_RUBRIC | READ_PROMPT | CHANGE_PROMPT
    return who in CREATE_NOTHING and name in needs and name != "GetUsage"


async def refusal(call: Awaitable[object]) -> tuple[str, str]:
    """Return why a call was refused: the reason and the message; ("", "") if it was not."""
    try:
        await call
    except HeddleError as error:
        return error.reason, error.message
    return "", ""


@dataclass
class Refused:
    """Calls that must be refused: they change nothing, and tell nothing of what there is."""

    calls: list[tuple[str, Call, Caller, str, str]] = field(default_factory=list)
    """Of each the name, the call, the caller, the id, and the expected reason."""

    async def check(self, database: Database) -> None:
        before = await everything(database)
        for name, call, caller, number, expected in self.calls:
            reason, message = await refusal(call(caller, number))
            assert reason == expected, name
            # What is forbidden is told in the words of what is missing.
            missing = await refusal(call(caller, MISSING))
            assert missing == (reason, message.replace(number, MISSING)), name
        assert await everything(database) == before


async def test_everybody_gets_what_the_rules_say(
    callers: dict[str, Caller], database: Database, subtests: pytest.Subtests
) -> None:
    count = 0
    for (who, caller), published in product(callers.items(), (False, True)):
        refused = Refused()
        with subtests.test(f"{who}, {published=}"):
            users = MAY_USE_PUBLISHED if published else MAY_USE
            for calls, allowed in (
                (USE, users),
                (CHANGE, MAY_CHANGE),
                (RESET, MAY_RESET),
                (RECORD, MAY_RECORD),
                (ADMINISTER, MAY_ADMINISTER),
            ):
                for name, call in calls.items():
                    count += 1
                    number = await keep(database, name=f"a{count}", published=published)
                    assert number == str(count)
                    if who in allowed:
                        assert await refusal(call(caller, number)) == ("", ""), name
                        continue
                    # Such a call is refused whatever it names.
                    whole = calls in (ADMINISTER, RECORD) or needs_creator(who, name)
                    expected = "PERMISSION_DENIED" if whole else "NOT_FOUND"
                    refused.calls.append((name, call, caller, number, expected))
            await refused.check(database)


@pytest.mark.parametrize("kind", ["rubric", "prompt"])
async def test_rubrics_and_prompts_are_for_whom_the_rules_say(
    callers: dict[str, Caller], database: Database, kind: str, subtests: pytest.Subtests
) -> None:
    numbers = itertools.count(100)
    read = READ_RUBRIC if kind == "rubric" else READ_PROMPT
    change = CHANGE_RUBRIC if kind == "rubric" else CHANGE_PROMPT
    store = keep_rubric if kind == "rubric" else keep_prompt
    for (who, caller), public in product(callers.items(), (False, True)):
        refused = Refused()
        with subtests.test(f"{who}, {public=}"):
            readers = MAY_READ_PUBLIC if public else MAY_CHANGE
            if kind == "prompt":
                readers = readers - CREATE_NOTHING
            for calls, allowed in ((read, readers), (change, MAY_CHANGE)):
                for name, call in calls.items():
                    number = await store(database, str(next(numbers)), is_public=public)
                    if who in allowed:
                        assert await refusal(call(caller, number)) == ("", ""), name
                        continue
                    expected = "PERMISSION_DENIED" if needs_creator(who, name) else "NOT_FOUND"
                    refused.calls.append((name, call, caller, number, expected))
            await refused.check(database)


async def test_only_services_ask_on_behalf_of_others(
    callers: dict[str, Caller], database: Database
) -> None:
    await keep_rubric(database, "7")
    await keep_collection(database, "7")
    for (who, caller), (name, call) in product(callers.items(), SERVE.items()):
        reason, message = await refusal(call(caller, "7"))
        if who in MAY_SERVE:
            assert reason == "", (who, name, message)
            continue
        assert (reason, message) == await refusal(call(caller, MISSING))
        assert reason == "PERMISSION_DENIED", (who, name)


async def test_lists_show_what_the_rules_say(
    callers: dict[str, Caller], database: Database, subtests: pytest.Subtests
) -> None:
    for name, published in (("hidden", False), ("shown", True)):
        await keep_usage(database, await keep(database, name=name, published=published))
        await keep_rubric(database, name, is_public=published)
        await keep_prompt(database, name, is_public=published)
    for who, caller in callers.items():
        with subtests.test(who):
            await check_lists(who, caller)


async def check_lists(who: str, caller: Caller) -> None:
    """Check what a caller sees of two assistants, rubrics and prompts, one of which is public."""
    managed = ["hidden", "shown"] if who in MAY_CHANGE else []
    own = ["hidden", "shown"] if who == "owner" else []
    seen = managed or (["shown"] if who in MAY_READ_PUBLIC else [])
    listed = [each.name for each in await caller.listed()]
    assert listed == (["shown"] if who in MAY_USE_PUBLISHED else [])
    assistants = await caller.listed(selection=pb.SELECTION_MANAGED)
    assert [each.name for each in assistants] == managed
    assistants = await caller.listed(selection=pb.SELECTION_OWN)
    assert [each.name for each in assistants] == own
    assert await caller.listed(selection=pb.SELECTION_SHARED) == []
    records = await caller.ask(caller.records.ListRecords, record_pb2.ListRecordsRequest())
    assert [each.name for each in records.records] == managed
    assert records.total_size == len(managed)
    assert await caller.listed_rubrics() == seen
    assert await caller.listed_rubrics(selection="RUBRIC_SELECTION_OWN") == own
    assert [each.name for each in (await caller.all_used()).assistants] == managed
    if who in CREATE_NOTHING:
        reason, _ = await refusal(caller.listed_prompts())
        assert reason == "PERMISSION_DENIED"
        return
    assert await caller.listed_prompts() == seen
    assert await caller.listed_prompts(selection="PROMPT_SELECTION_OWN") == own


def test_every_call_that_takes_an_id_is_in_the_table() -> None:
    tables = (
        *(USE, CHANGE, RESET, RECORD, ADMINISTER, SERVE),
        *(READ_RUBRIC, CHANGE_RUBRIC, READ_PROMPT, CHANGE_PROMPT),
    )
    tried = {name.split()[0] for table in tables for name in table}
    services = [
        pb.DESCRIPTOR.services_by_name["AssistantService"],
        record_pb2.DESCRIPTOR.services_by_name["RecordService"],
        migration_pb2.DESCRIPTOR.services_by_name["MigrationService"],
        rubric_pb2.DESCRIPTOR.services_by_name["RubricService"],
        prompts_pb2.DESCRIPTOR.services_by_name["PromptService"],
        usage_pb2.DESCRIPTOR.services_by_name["UsageService"],
    ]
    for contract in services:
        for method in contract.methods:
            fields = set(method.input_type.fields_by_name)
            takes_id = bool(fields & {"id", "ids", "reference"})
            # In what is to be kept.
            takes_id |= method.name in (
                *("UpdateAssistant", "UpdateRubric", "UpdatePrompt", "RecordUsage"),
            )
            assert (method.name in tried) == takes_id, method.name
