"""Who gets what of whose assistants and rubrics: every call that takes an id, in one table."""

from collections.abc import AsyncIterator, Awaitable, Callable

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
async def somebody(
    request: pytest.FixtureRequest, database_url: str
) -> AsyncIterator[tuple[str, Caller]]:
    """A caller of a service."""
    async with serving(database_url) as service:
        yield request.param, service.as_(CALLERS[request.param])


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


@pytest.mark.parametrize("somebody", CALLERS, indirect=True)
async def test_everybody_gets_what_the_rules_say(
    somebody: tuple[str, Caller], database: Database
) -> None:
    who, caller = somebody
    made = 0
    for published in (False, True):
        users = MAY_USE_PUBLISHED if published else MAY_USE
        for calls, allowed in (
            (USE, users),
            (CHANGE, MAY_CHANGE),
            (RESET, MAY_RESET),
            (RECORD, MAY_RECORD),
            (ADMINISTER, MAY_ADMINISTER),
        ):
            for name, call in calls.items():
                made += 1
                number = await keep(database, name=f"a{made}", published=published)
                assert number == str(made)
                before = await everything(database)
                reason, message = await refusal(call(caller, number))
                if who in allowed:
                    assert reason == "", (name, published, message)
                    continue
                # Such a call is refused whatever it names.
                whole = calls in (ADMINISTER, RECORD) or needs_creator(who, name)
                expected = "PERMISSION_DENIED" if whole else "NOT_FOUND"
                assert reason == expected, (name, published)
                assert await everything(database) == before, (name, published)
                # What is forbidden is told in the words of what is missing.
                missing = await refusal(call(caller, MISSING))
                assert missing == (reason, message.replace(number, MISSING)), (name, published)


@pytest.mark.parametrize("somebody", CALLERS, indirect=True)
@pytest.mark.parametrize("kind", ["rubric", "prompt"])
async def test_rubrics_and_prompts_are_for_whom_the_rules_say(
    somebody: tuple[str, Caller], database: Database, kind: str
) -> None:
    who, caller = somebody
    made = 100
    read = READ_RUBRIC if kind == "rubric" else READ_PROMPT
    change = CHANGE_RUBRIC if kind == "rubric" else CHANGE_PROMPT
    store = keep_rubric if kind == "rubric" else keep_prompt
    for public in (False, True):
        readers = MAY_READ_PUBLIC if public else MAY_CHANGE
        if kind == "prompt":
            readers = readers - CREATE_NOTHING
        for calls, allowed in ((read, readers), (change, MAY_CHANGE)):
            for name, call in calls.items():
                made += 1
                number = await store(database, str(made), is_public=public)
                before = await everything(database)
                reason, message = await refusal(call(caller, number))
                if who in allowed:
                    assert reason == "", (name, public, message)
                    continue
                expected = "PERMISSION_DENIED" if needs_creator(who, name) else "NOT_FOUND"
                assert reason == expected, (name, public)
                assert await everything(database) == before, (name, public)
                missing = await refusal(call(caller, MISSING))
                assert missing == (reason, message.replace(number, MISSING)), (name, public)


@pytest.mark.parametrize("somebody", CALLERS, indirect=True)
async def test_only_services_ask_on_behalf_of_others(
    somebody: tuple[str, Caller], database: Database
) -> None:
    who, caller = somebody
    await keep_rubric(database, "7")
    await keep_collection(database, "7")
    for name, call in SERVE.items():
        reason, message = await refusal(call(caller, "7"))
        if who in MAY_SERVE:
            assert reason == "", (name, message)
            continue
        assert (reason, message) == await refusal(call(caller, MISSING))
        assert reason == "PERMISSION_DENIED", name


@pytest.mark.parametrize("somebody", CALLERS, indirect=True)
async def test_lists_show_what_the_rules_say(
    somebody: tuple[str, Caller], database: Database
) -> None:
    who, caller = somebody
    for name, published in (("hidden", False), ("shown", True)):
        await keep_usage(database, await keep(database, name=name, published=published))
    listed = [each.name for each in await caller.listed()]
    assert listed == (["shown"] if who in MAY_USE_PUBLISHED else [])
    managed = [each.name for each in await caller.listed(selection=pb.SELECTION_MANAGED)]
    assert managed == (["hidden", "shown"] if who in MAY_CHANGE else [])
    own = [each.name for each in await caller.listed(selection=pb.SELECTION_OWN)]
    assert own == (["hidden", "shown"] if who == "owner" else [])
    assert await caller.listed(selection=pb.SELECTION_SHARED) == []
    records = await caller.ask(caller.records.ListRecords, record_pb2.ListRecordsRequest())
    assert [each.name for each in records.records] == managed
    assert records.total_size == len(managed)
    await keep_rubric(database, "hidden")
    await keep_rubric(database, "shown", is_public=True)
    everybodys = ["shown"] if who in MAY_READ_PUBLIC else []
    assert await caller.listed_rubrics() == (
        ["hidden", "shown"] if who in MAY_CHANGE else everybodys
    )
    assert await caller.listed_rubrics(selection="RUBRIC_SELECTION_OWN") == (
        ["hidden", "shown"] if who == "owner" else []
    )
    assert [each.name for each in (await caller.all_used()).assistants] == managed
    await keep_prompt(database, "hidden")
    await keep_prompt(database, "shown", is_public=True)
    if who in CREATE_NOTHING:
        reason, _ = await refusal(caller.listed_prompts())
        assert reason == "PERMISSION_DENIED"
        return
    assert await caller.listed_prompts() == (
        ["hidden", "shown"] if who in MAY_CHANGE else everybodys
    )
    assert await caller.listed_prompts(selection="PROMPT_SELECTION_OWN") == (
        ["hidden", "shown"] if who == "owner" else []
    )


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
