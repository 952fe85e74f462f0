"""Limits of accounts, assistants, usage, imports and the audit log."""

import json
from typing import Any

from boundaries.rows.forms import Check
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import (
    assistant_pb2,
    jobs_pb2,
    questions_pb2,
    rows_pb2,
    sharing_pb2,
    versions_pb2,
)
from heddle.audit.v1 import audit_pb2
from heddle.conversation.v1 import batches_pb2, conversation_pb2
from heddle.group.v1 import group_pb2
from heddle.migration.v1 import migration_pb2
from heddle.usage.v1 import usage_pb2
from heddle_assistants.accounts import checks, extension_texts, resolution, settings_text
from heddle_assistants.accounts import model_prices as prices
from heddle_assistants.accounts.sign_in import limits, password_hashes, passwords
from heddle_assistants.audit import recorded
from heddle_assistants.batches import servicer as batches
from heddle_assistants.catalog import checking
from heddle_assistants.conversations import items as stored_items
from heddle_assistants.conversations import store as conversations
from heddle_assistants.database.paging import check_length
from heddle_assistants.field_checks import may_be_user
from heddle_assistants.groups import members
from heddle_assistants.groups import store as groups
from heddle_assistants.imports import conflict_resolution
from heddle_assistants.questions.servicer import check as check_questions
from heddle_assistants.repository import quotas
from heddle_assistants.rubrics import content
from heddle_assistants.sharing.store import shares_of
from heddle_assistants.usage import days, entries, recording, reservations
from heddle_assistants.versions.differences import text_pieces
from heddle_conversion import columns, contract_tools, identifiers, json_text
from heddle_migration_service import servicer as batch_jobs
from heddle_migration_service.lamb import kinds
from heddle_migration_service.lamb.values import LambRow
from heddle_migration_service.records import view
from heddle_runtime.identity.callers import Identity


def _reported(**fields: Any) -> object:
    return entries.entries_of(usage_pb2.RecordUsageRequest(**{"recorder": "r", **fields}))


def _used(number: int, **counts: int) -> usage_pb2.UsageEntry:
    return usage_pb2.UsageEntry(number=number, assistant_id="1", counts=usage_pb2.Counts(**counts))


def _reserved(**fields: Any) -> None:
    base = {"reservation_id": "r", "assistant_id": "1", "lifetime": Duration(seconds=1)}
    reservations._check(usage_pb2.ReserveUsageRequest(**{**base, **fields}))


def _summed(count: int) -> None:
    request = usage_pb2.SummarizeUsageRequest(assistant_ids=["1"] * count)
    days._conditions(Identity("ann"), request, days.Period(days.FIRST_DAY, days.FIRST_DAY))


def _priced(dollars: int) -> object:
    return prices.read_prices({"a/b": {"input": dollars, "output": 0}})


def _cost(picos: int) -> bool:
    entry = entries.Entry(1, 1, "a", "b", usage_pb2.Counts())
    return bool(recording._rows([(entry, picos)])[0]["cost_picos"] != picos)


def _rubric(characters: int) -> object:
    empty = len(json.dumps({"title": ""}))
    return content.read(json.dumps({"title": "x" * (characters - empty)}))


def _events(count: int, recorder: str = "r") -> None:
    events = [audit_pb2.RecordedEvent()] * count
    recorded._check(audit_pb2.RecordAuditEventsRequest(recorder=recorder, events=events))


def _imported(size: int) -> object:
    draft = conflict_resolution.Draft({"name": "x" * (size - 1), "owner": "y"})
    return conflict_resolution._too_long(["name", "owner"], draft)


def _assistant(*tools: assistant_pb2.ToolBinding) -> list[object]:
    model = assistant_pb2.ModelRef(connector="c", model="m")
    return list(checking.violations_of(assistant_pb2.Assistant(model=model, tools=tools)))


def _tool(**fields: Any) -> assistant_pb2.ToolBinding:
    return assistant_pb2.ToolBinding(**{"tool": "t", **fields})


def _questions(count: int = 1, **fields: str) -> None:
    check_questions([questions_pb2.SavedQuestion(**{"text": "a", **fields})] * count)


def _shared(users: int) -> None:
    addresses = [f"u{number}@uni.example" for number in range(users)]
    shares_of(sharing_pb2.Sharing(users_who_may_use=addresses))


async def _row_of_lamb(size: int) -> object:
    """Return why a row is refused whose message has a size."""
    row = rows_pb2.UserRow(email="x" * size)
    row.email = row.email[: size - (row.ByteSize() - size)]

    async def drafts(*_: object) -> list[kinds.Draft]:
        return [kinds.Draft(1, "", {"email": row.email})]

    none: Any = None
    kind = kinds.Kind("users", (), "users", rows_pb2.UserRow, ("email",), drafts)
    [draft] = await kinds.drafts_of(kind, none, none, [LambRow({})])
    return draft.error


def _compared(parts: int) -> bool:
    """Return whether texts of so many parts are compared as a whole."""
    common = "." * (parts - 1)
    pieces = text_pieces(f"{common}x", f"{common}y")
    return all(each.kind != versions_pb2.TextPiece.KIND_EQUAL for each in pieces)


def _group(**fields: Any) -> group_pb2.Group:
    return group_pb2.Group(**{"title": "Biology", "teachers": ["ana@uni.example"]} | fields)


def _code(days: int = 1, uses: int = 1) -> None:
    end = Timestamp(seconds=days * 86_400)
    members.bounds_of_code(group_pb2.CreateJoiningCodeRequest(expire_time=end, uses=uses), 0)


def _item(size: int = 2) -> conversation_pb2.Item:
    return conversation_pb2.Item(id="i", document_json="{}".ljust(size))


_ASSISTANTS, _CONVERSION = "heddle_assistants", "heddle_conversion"
_ANN = Identity("ann@example.org", "")
_STORED = f"{_ASSISTANTS}.conversations"
_GROUPS = f"{_ASSISTANTS}.groups"
_USAGE = f"{_ASSISTANTS}.usage"
_SIGN_IN = "heddle_assistants.accounts.sign_in"
ROWS: dict[str, Check] = {
    "heddle_assistants.usage.days._MAX_ASSISTANTS": _summed,
    f"{_SIGN_IN}.password_hashes.MAX_WAITING_HASHES": password_hashes.check_waiting,
    f"{_SIGN_IN}.passwords.MAX_PASSWORD_CHARACTERS": lambda n: passwords.check_length("x" * n),
    f"{_SIGN_IN}.limits.MAX_ADDRESS_FAILURES": lambda n: limits.check_failures(
        n, limits.MAX_ADDRESS_FAILURES, 1
    ),
    f"{_SIGN_IN}.limits.MAX_CLIENT_FAILURES": lambda n: limits.check_failures(
        n, limits.MAX_CLIENT_FAILURES, 1
    ),
    f"{_ASSISTANTS}.accounts.checks._LONGEST_NAME": lambda n: checks.check_name("x" * n, "name"),
    f"{_ASSISTANTS}.accounts.resolution._MAX_DAYS": lambda n: next(
        resolution.retention_problems({"retention": {"usage_days": n}}), None
    ),
    f"{_ASSISTANTS}.accounts.settings_text._LARGEST": lambda n: (
        settings_text.parsed("{}".ljust(n)) and None
    ),
    f"{_ASSISTANTS}.database.paging.LONGEST_TEXT": lambda n: check_length("x" * n),
    f"{_ASSISTANTS}.audit.recorded.MAX_EVENTS": _events,
    f"{_ASSISTANTS}.audit.recorded.MAX_RECORDER": lambda n: _events(0, "x" * n),
    f"{_ASSISTANTS}.imports.conflict_resolution._MAX_KEY_BYTES": _imported,
    "heddle_assistants.batches.servicer.MAX_RUNNING": batches.check_running,
    "heddle_assistants.batches.servicer.MAX_DOCUMENT_CHARACTERS": lambda n: batches.check(
        batches_pb2.Batch(id="batch_1", status="failed", document_json="{}".ljust(n))
    ),
    f"{_STORED}.items.MAX_ITEMS": stored_items.check_count,
    f"{_STORED}.items._MAX_BODY": lambda n: stored_items.documents_of([_item(n)], "") and None,
    f"{_STORED}.store._MAX_FEEDBACK": lambda n: conversations.check_feedback(
        conversation_pb2.Feedback(text="x" * n)
    ),
    f"{_STORED}.store._MAX_TITLE": lambda n: conversations.check(
        conversation_pb2.Conversation(title="x" * n)
    ),
    f"{_STORED}.store.MAX_NEW_ITEMS": lambda n: conversations.new_items([_item()] * n) and None,
    f"{_ASSISTANTS}.accounts.extension_texts.MAX_NAME": lambda n: extension_texts.check(
        account_pb2.PutExtensionTextRequest(name="x" * n)
    ),
    f"{_ASSISTANTS}.accounts.extension_texts.MAX_TEXT": lambda n: extension_texts.check(
        account_pb2.PutExtensionTextRequest(name="x", text="x" * n)
    ),
    f"{_GROUPS}.store.MAX_TITLE": lambda n: groups.check(_group(title="x" * n), _ANN),
    f"{_GROUPS}.store.MAX_TEACHERS": lambda n: groups.check(
        _group(teachers=["a@b.example"] * n), _ANN
    ),
    f"{_GROUPS}.store.MAX_ASSISTANTS": lambda n: groups.check(_group(assistants=["1"] * n), _ANN),
    f"{_GROUPS}.members.MAX_ADDED": lambda n: members.check_emails(["a@b.example"] * n),
    f"{_GROUPS}.members.MAX_MEMBERS": members.check_count,
    f"{_GROUPS}.members.MAX_USES": lambda n: _code(uses=n),
    f"{_GROUPS}.members._MAX_DAYS": _code,
    f"{_ASSISTANTS}.questions.servicer.MAX_QUESTIONS": _questions,
    f"{_ASSISTANTS}.questions.servicer.MAX_TEXT": lambda n: _questions(text="x" * n),
    f"{_ASSISTANTS}.questions.servicer.MAX_TITLE": lambda n: _questions(title="x" * n),
    f"{_ASSISTANTS}.repository.quotas.LARGEST": lambda n: quotas.with_limit({}, n) and None,
    f"{_ASSISTANTS}.sharing.store.MAX_USERS": _shared,
    f"{_ASSISTANTS}.versions.differences.MAX_PARTS": _compared,
    f"{_ASSISTANTS}.rubrics.content.LARGEST": lambda n: _rubric(n) and None,
    f"{_USAGE}.entries.MOST": lambda n: (
        _reported(entries=[_used(number + 1) for number in range(n)]) and None
    ),
    f"{_USAGE}.entries._LARGEST": lambda n: _reported(entries=[_used(1, prompt_tokens=n)]) and None,
    f"{_USAGE}.entries._LONGEST_RECORDER": lambda n: _reported(recorder="x" * n),
    f"{_ASSISTANTS}.accounts.model_prices.DEAREST": lambda n: _priced(n) and None,
    f"{_USAGE}.recording.MOST_PICOS": _cost,
    f"{_USAGE}.reservations.MAX_TOKENS": lambda n: _reserved(prompt_tokens=n),
    f"{_USAGE}.reservations.MAX_ID_CHARACTERS": lambda n: _reserved(reservation_id="x" * n),
    f"{_USAGE}.reservations.MAX_LIFETIME": lambda n: _reserved(lifetime=Duration(seconds=n)),
    "heddle_runtime.contract.limits.MAX_OWNER_CHARACTERS": lambda n: not may_be_user("x" * n),
    "heddle_runtime.contract.limits.MAX_TOOLS": lambda n: _assistant(*[_tool()] * n),
    "heddle_runtime.contract.limits.MAX_TOOL_SECONDS": lambda n: _assistant(
        _tool(timeout=Duration(seconds=n))
    ),
    f"{_CONVERSION}.columns.MOST_COLLECTIONS": lambda n: columns.collections_of(
        ",".join(["a"] * n)
    )[1],
    f"{_CONVERSION}.columns.MOST_RESULTS": lambda n: columns.top_k_of(n)[1],
    f"{_CONVERSION}.contract_tools._LARGEST_EXACT": lambda n: contract_tools._exact(n) != n,
    f"{_CONVERSION}.identifiers.MAX_ROW_ID": lambda n: identifiers.row_id(str(n)) is None,
    f"{_CONVERSION}.json_text._MAX_DIGITS": lambda n: (
        json_text.checked({"a": 10 ** (n - 1)}) and None
    ),
    "heddle_migration_service.servicer._MAX_IDS": lambda n: batch_jobs.check_request(
        migration_pb2.RunMigrationRequest(kind=jobs_pb2.JOB_KIND_SWEEP, ids=["1"] * n)
    ),
    "heddle_migration_service.lamb.kinds._MAX_ID": lambda n: (
        kinds.drafted(LambRow({"id": n}), "", {}).error
    ),
    "heddle_migration_service.lamb.kinds._MAX_ROW_BYTES": _row_of_lamb,
    "heddle_migration_service.records.view._MAX_DIGITS": lambda n: view._number("1" * n) == "1" * n,
}
