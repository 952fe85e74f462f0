"""Each change is one event, which says who changed what, without prompts and secrets."""

import ast
import json
from pathlib import Path

import heddle_assistants
import msgspec
import pytest
from assistants.audit.reading import changed, events
from assistants.serving import ADA, ADMIN, MODEL, SERVICE, Service
from assistants.stored import RUBRIC, keep, keep_usage, keep_user
from gateway.essays import EXAMPLE
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2, rows_pb2
from heddle.assistant.v1.rows_pb2_grpc import RowBatchServiceStub
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle.rubric.v1 import rubric_pb2
from heddle_assistants.database.schema import audit_events
from heddle_runtime.errors import HeddleError, InvalidRequestError, PermissionDeniedError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select

CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
DEAN = Identity("dean@college.example", "college", ("organization_admin",))
PROMPT = "You are the dean's secret helper."
KEY = "sk-proj-0123456789abcdefghijklmnopqrstuv"
UNAUDITED = {
    ("accounts/api_keys.py", "_note_use"): "stores when a key was used; changes no right",
    ("accounts/owner_organizations.py", "create_default_organization"): "begins the database",
    ("accounts/extension_texts.py", "get"): "encrypts a text anew",
    ("accounts/extension_texts.py", "put"): "stores what an extension needs; changes no right",
    ("accounts/organizations.py", "_reseal"): "encrypts secrets anew, and changes none",
    ("accounts/sign_in/limits.py", "begin"): "counts attempts",
    ("accounts/sign_in/limits.py", "forget"): "deletes counts that have ended",
    ("accounts/sign_in/limits.py", "succeeded"): "counts attempts",
    ("accounts/sign_in/limits.py", "uses"): "counts uses of confirmations",
    ("accounts/sign_in/sessions.py", "_touch"): "stores when a session was used",
    ("accounts/sign_in/sessions.py", "forget"): "deletes sessions that have ended by themselves",
    ("accounts/sign_in/signing_in.py", "_rehash"): "computes a hash anew, and changes no password",
    ("audit/log.py", "expire"): "adds its event itself",
    ("audit/people.py", "erase"): "changes events; the erasure of the person is an event",
    ("audit/log.py", "open_audit_log"): "begins the log",
    ("audit/log.py", "recording"): "adds events of others",
    ("batches/servicer.py", "CreateBatch"): "a person's own batch, which others cannot read",
    ("batches/servicer.py", "CancelBatch"): "a person's own batch, which others cannot read",
    ("batches/servicer.py", "ClaimBatch"): "assigns a batch to a process; changes no setting",
    (
        "batches/servicer.py",
        "ReportBatch",
    ): "stores results; what runs of them changes is in the log",
    ("batches/servicer.py", "expire"): "deletes what is kept for a month only",
    ("conversations/expiry.py", "_expire"): "deletes what the settings no longer keep",
    ("conversations/owners.py", "reseal_owner_keys"): "changes no text, only its key's seal",
    ("conversations/owners.py", "writing"): "only owners read or change their conversations",
    ("following/claims.py", "claim"): "assigns the following to a service; changes no setting",
    ("insights/copies.py", "expire"): "deletes what the settings no longer keep",
    ("jobs/store.py", "claim"): "assigns a job to a service; its start is in the log",
    ("jobs/store.py", "report"): "stores the progress of a job; its changes are in the log",
    ("versions/retention.py", "_empty"): "deletes what the settings no longer keep",
    ("versions/retention.py", "_delete"): "deletes what the settings no longer keep",
    ("usage/days.py", "expire"): "deletes what the settings no longer keep",
    ("usage/reservations.py", "reserve"): "counts what answers may consume; changes no setting",
    ("usage/recording.py", "record"): "counts what answers consume; changes no setting",
    ("conversations/answers.py", "PutResponse"): "counts what is asked; changes no setting",
    ("conversations/answers.py", "_put"): "a person's own conversations, which others cannot read",
}


def test_every_transaction_that_writes_is_audited() -> None:
    """A new `database.writing()` belongs into the audit log, or here with its reason."""
    root = Path(heddle_assistants.__file__).parent
    places = set()
    for path in root.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.AsyncFunctionDef):
                continue
            nodes = ast.walk(function)
            calls = (ast.unparse(each.func) for each in nodes if isinstance(each, ast.Call))
            if any(call.endswith("database.writing") for call in calls):
                places.add((path.relative_to(root).as_posix(), function.name))
    assert places == set(UNAUDITED)


async def test_the_life_of_an_assistant_is_in_the_log(service: Service) -> None:
    ada = service.as_(ADA)
    tool = assistant_pb2.ToolBinding(tool="rubric", slot="r")
    created = await ada.create("tutor", system_prompt=PROMPT, tools=[tool])
    number = created.assistant.id
    created.assistant.description = "For the dean."
    created.assistant.system_prompt = f"{PROMPT} Be brief."
    await ada.update(created.assistant)
    publication = assistant_pb2.PublishAssistantRequest(id=number, published=True)
    await ada.ask(ada.assistants.PublishAssistant, publication)
    deletion = assistant_pb2.DeleteAssistantRequest(id=number)
    await ada.ask(ada.assistants.DeleteAssistant, deletion)

    log = await events(service, object_type="assistant", object_id=number)

    actions = ["assistant.create", "assistant.update", "assistant.publish", "assistant.delete"]
    assert [each.action for each in log] == actions
    assert {(each.actor.subject, each.organization) for each in log} == {(ADA.subject, "uni")}
    assert all(each.request_id.startswith("req_") and each.time.seconds for each in log)
    create, update, publish, delete = map(changed, log)
    assert create["name"] == (None, "tutor")
    assert create["tools"] == (None, '["rubric"]')
    assert create["model"] == (None, MODEL.model)
    assert create["system_prompt"] == (None, None)
    assert set(update) == {"description", "system_prompt"}
    assert publish["published"] == ("false", "true")
    assert delete["owner"] == (ADA.subject, None)
    assert [bool(each.before_digest) for each in log] == [False, True, True, True]
    assert [bool(each.after_digest) for each in log] == [True, True, True, False]
    assert log[0].after_digest == log[1].before_digest
    assert "secret helper" not in "".join(map(str, log))


async def test_an_event_names_the_api_key_of_the_request(service: Service) -> None:
    await service.as_(msgspec.structs.replace(ADA, key_id="k1")).create("tutor")
    [event] = await events(service)
    assert (event.actor.subject, event.actor.key_id) == (ADA.subject, "k1")


async def test_what_changes_nothing_is_not_in_the_log(service: Service) -> None:
    ada = service.as_(ADA)
    created = await ada.create("tutor", description="d")
    await ada.update(created.assistant)
    assert [each.action for each in await events(service)] == ["assistant.create"]


async def test_a_change_that_fails_is_not_in_the_log(service: Service) -> None:
    ada = service.as_(ADA)
    await ada.create("tutor")
    with pytest.raises(HeddleError):
        await ada.create("tutor")
    assert len(await events(service)) == 1


async def test_a_migration_on_access_is_in_the_log(service: Service, database: Database) -> None:
    number = await keep(database)
    await service.as_(ADA).get(number)
    [event] = await events(service)
    assert (event.action, event.object_id) == ("assistant.migrate", number)
    assert event.actor.subject == ADA.subject


async def test_a_batch_is_one_event(service: Service, database: Database) -> None:
    numbers = [int(await keep(database, name=f"a{number}")) for number in range(5)]
    admin = service.as_(ADMIN)
    await admin.migrate()
    await admin.roll_back()
    log = await events(service)
    assert [each.action for each in log] == ["migration.migrate", "migration.rollback"]
    assert changed(log[0])["rows"] == (None, "5")
    assert changed(log[0])["ids"] == (None, f"{numbers[0]}-{numbers[-1]}")


async def test_accounts_are_in_the_log_without_their_secrets(
    service: Service, database: Database
) -> None:
    chair = service.as_(CHAIR)
    settings = f'{{"providers": {{"openai": {{"api_key": "{KEY}"}}}}}}'
    organization = account_pb2.Organization(slug="uni", settings_json="{}")
    put = account_pb2.PutOrganizationRequest(organization=organization)
    stored = await service.as_(ADMIN).ask(chair.accounts.PutOrganization, put)
    put.organization.settings_json, put.etag = settings, stored.etag
    await chair.ask(chair.accounts.PutOrganization, put)
    user = account_pb2.PutUserRequest(email=ADA.subject, organization="uni", role="creator")
    await chair.ask(chair.accounts.PutUser, user)
    user.disabled = True
    await chair.ask(chair.accounts.PutUser, user)
    key = account_pb2.Key(name="laptop", organization="uni", user=ADA.subject)
    created = await chair.ask(chair.accounts.CreateKey, account_pb2.CreateKeyRequest(key=key))
    revocation = account_pb2.RevokeKeyRequest(id=created.key.id)
    for _ in range(2):  # the second time nothing changes
        await chair.ask(chair.accounts.RevokeKey, revocation)

    log = await events(service, CHAIR)

    assert [(each.action, each.object_id) for each in log] == [
        ("organization.create", "uni"),
        ("organization.update", "uni"),
        ("user.create", ADA.subject),
        ("user.update", ADA.subject),
        ("key.create", created.key.id),
        ("key.revoke", created.key.id),
    ]
    assert changed(log[1]) == {"settings.providers": (None, None)}
    assert changed(log[3]) == {"disabled": ("false", "true")}
    assert changed(log[4])["user"] == (None, ADA.subject)
    async with database.reading() as connection:
        rows = str((await connection.execute(select(audit_events))).all())
    assert created.secret.split("_", 2)[2] not in rows
    assert KEY not in rows
    assert "0123456789abcdef" not in rows


async def test_a_user_who_moves_is_in_the_log_of_both_organisations(
    service: Service, database: Database
) -> None:
    await keep_user(database, ADA.subject, "uni", 1)
    await keep_user(database, "eve@college.example", "college", 2)
    admin = service.as_(ADMIN)
    move = account_pb2.PutUserRequest(email=ADA.subject, organization="college")
    await admin.ask(admin.accounts.PutUser, move)
    assert [each.action for each in await events(service, CHAIR)] == ["user.leave"]
    [event] = await events(service, DEAN)
    assert changed(event)["organization"] == ("uni", "college")


async def test_rubrics_and_usage_are_in_the_log(service: Service, database: Database) -> None:
    ada, content = service.as_(ADA), json.dumps(EXAMPLE)
    rubric = (await ada.create_rubric(content)).rubric
    await ada.update_rubric(rubric_pb2.Rubric(id=rubric.id, content_json=content, public=True))
    await ada.delete_rubric(rubric.id)
    number = await keep(database)
    await keep_usage(database, number)
    await service.as_(CHAIR).reset(number)
    prompt = (await ada.create_prompt(title="Tutor", system_prompt="Be kind.")).prompt
    prompt.public = True
    await ada.update_prompt(prompt)
    log = await events(service)
    actions = ["rubric.create", "rubric.update", "rubric.delete", "usage.reset"]
    assert [each.action for each in log] == [*actions, "prompt.create", "prompt.update"]
    for update in (log[1], log[5]):
        assert changed(update)["public"] == ("false", "true")
    assert "Be kind" not in "".join(map(str, log))
    assert EXAMPLE["criteria"][0]["name"] not in "".join(map(str, log))


async def test_an_import_of_a_batch_is_one_event(service: Service, database: Database) -> None:

    await keep(database)
    migration = service.as_(SERVICE)
    batch = rows_pb2.RowBatch(
        rubrics=[
            rows_pb2.RubricRow(
                id=number,
                rubric_id=f"r{number}",
                organization="uni",
                owner_email="o",
                title="t",
                rubric_data=RUBRIC,
                created_at=1,
                updated_at=1,
            )
            for number in (3, 4, 9)
        ]
    )
    stub = RowBatchServiceStub(service.connection)
    for _ in range(2):  # the second time nothing is new
        await migration.ask(stub.ImportRows, rows_pb2.ImportRowsRequest(rows=batch))
    [event] = await events(service)
    assert (event.action, event.organization) == ("import.insert", "uni")
    assert changed(event)["table"] == (None, "rubrics")
    assert changed(event)["ids"] == (None, "3-4,9")


async def test_refused_attempts_are_in_the_log_of_the_callers_organisation(
    service: Service,
) -> None:
    ada = service.as_(ADA)
    request = account_pb2.PutUserRequest(email="eve@college.example", organization="college")
    for _ in range(100):
        with pytest.raises(HeddleError):
            await ada.ask(ada.accounts.PutUser, request)
    log = await events(service, CHAIR)
    assert 60 <= len(log) <= 120  # in each minute 60
    assert {(each.action, each.outcome) for each in log} == {("user.update", pb.OUTCOME_REFUSED)}
    assert await events(service, DEAN) == []


async def test_only_administrators_read_and_each_the_own_organisation(service: Service) -> None:
    ben = Identity("ben@college.example", "college", ("creator",))
    await service.as_(ADA).create("a")
    await service.as_(ben).create("b")
    assert [each.organization for each in await events(service)] == ["uni", "college"]
    for administrator in (CHAIR, DEAN):
        log = await events(service, administrator)
        assert [each.organization for each in log] == [administrator.organization]
        assert await events(service, administrator, organization="main") == []
    assert await events(service, DEAN, organization="uni") == []
    stub = AuditServiceStub(service.connection)
    for identity in (ADA, SERVICE):
        with pytest.raises(PermissionDeniedError):
            await events(service, identity)
    for identity in (ADA, CHAIR, SERVICE):
        with pytest.raises(PermissionDeniedError):
            await service.as_(identity).ask(stub.VerifyAuditEvents, pb.VerifyAuditEventsRequest())


async def test_filters_and_pages_select_events_in_a_stable_order(service: Service) -> None:
    ada, bob = service.as_(ADA), service.as_(Identity("bob@uni.example", "uni", ("creator",)))
    for number in range(5):
        await ada.create(f"a{number}")
        await bob.create(f"b{number}")
    log = await events(service)
    assert [each.number for each in log] == list(range(1, 11))
    assert await events(service, page_size=3) == log
    assert len(await events(service, subject=ADA.subject)) == 5
    assert await events(service, object_id=log[3].object_id) == [log[3]]
    assert await events(service, object_type="rubric") == []
    first, last = log[0].time.seconds, log[-1].time.seconds
    assert await events(service, since={"seconds": first}, until={"seconds": last + 1}) == log
    assert await events(service, since={"seconds": last + 1}) == []
    assert await events(service, until={"seconds": first}) == []

    stub, admin = AuditServiceStub(service.connection), service.as_(ADMIN)
    page = await admin.ask(stub.ListAuditEvents, pb.ListAuditEventsRequest(page_size=4))
    await ada.create("later")
    token = page.next_page_token
    rest = await admin.ask(stub.ListAuditEvents, pb.ListAuditEventsRequest(page_token=token))
    assert [*page.events, *rest.events] == log[::-1]
    with pytest.raises(InvalidRequestError):
        await admin.ask(stub.ListAuditEvents, pb.ListAuditEventsRequest(page_token="x"))


async def test_events_of_another_service_are_recorded_once(
    service: Service,
) -> None:
    knowledge, stub = service.as_(SERVICE), AuditServiceStub(service.connection)
    event = pb.AuditEvent(action="collection.create", object_id="c\0", actor=pb.Actor(subject="x"))
    batch = [pb.RecordedEvent(number=number, event=event) for number in (1, 2)]
    request = pb.RecordAuditEventsRequest(recorder="r", events=batch)
    for _ in range(2):
        await knowledge.ask(stub.RecordAuditEvents, request)
    request.events.add(number=3, event=event)
    await knowledge.ask(stub.RecordAuditEvents, request)
    log = await events(service)
    assert [(each.number, each.actor.subject) for each in log] == [(1, "x"), (2, "x"), (3, "x")]
    with pytest.raises(PermissionDeniedError):
        await service.as_(ADA).ask(stub.RecordAuditEvents, request)
    with pytest.raises(InvalidRequestError):
        await knowledge.ask(
            stub.RecordAuditEvents, pb.RecordAuditEventsRequest(recorder="r" * 65, events=batch)
        )
