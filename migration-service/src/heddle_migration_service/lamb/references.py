"""Notes about what LAMB's assistants name: collections, rubrics, documents, models and braces."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from heddle_conversion import LegacyColumns, convert, parse
from heddle_conversion.bindings import normal
from heddle_conversion.contract_tools import text
from heddle_conversion.import_notes import answers_without
from heddle_conversion.processors import CONTEXT, KNOWLEDGE, current_connector
from heddle_runtime.errors import MalformedAssistantError, NewerFormatError

from heddle_migration_service.lamb.kinds import Draft
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow, settings_member

_BRACED = re.compile(r"\{([^{}\n]{1,40})\}")
_NAMES_IN_NOTE = 5
_KINDS: Mapping[str, Sequence[tuple[str, str]]] = {
    "collection": (("kb_registry", "kb_id"), ("knowledge_stores", "id")),
    "rubric": (("rubrics", "rubric_id"),),
    "document": (("library_items", "id"),),
}
"""The tables and columns of LAMB that list things of a kind."""
_SLOTS = {"single_file": "file", "web_search": "web"}
"""The slots of tools that fill none of their own name."""
_MOODLE, _MOODLE_SLOT = "moodle_augment", "moodle_user"
"""A prompt processor and the slot that it fills."""
_Named = dict[str, list[str]]


async def note_references(tables: LambTables, drafts: Sequence[Draft]) -> None:
    """Add a note for each thing that an assistant names and LAMB's tables do not contain."""
    living = [draft for draft in drafts if draft.values["deleted_at"] is None]
    documents = {draft.id: document for draft in living if (document := _document(draft))}
    named = {number: _named(document) for number, document in documents.items()}
    missing = {
        kind: await _missing(
            tables, places, {each for names in named.values() for each in names.get(kind, ())}
        )
        for kind, places in _KINDS.items()
    }
    for draft in living:
        for kind, names in named.get(draft.id, {}).items():
            for each in dict.fromkeys(names):
                if each in missing[kind]:
                    draft.notes.append(answers_without(f"LAMB has no {kind} {each[:100]!r}."))
        if note := _braces(draft, documents.get(draft.id, {})):
            draft.notes.append(note)


async def note_models(tables: LambTables, rows: Sequence[LambRow], drafts: Sequence[Draft]) -> None:
    """Add a note about each model that the assistant's organisation does not list."""
    keys = {key for row in rows if (key := row.whole("organization_id")) is not None}
    organization_rows = await tables.matching("organizations", "id", keys, ("config",))
    providers = {row.whole("id"): _providers(row.text("config")) for row in organization_rows}
    for row, draft in zip(rows, drafts, strict=True):
        document = _document(draft)
        connector, model = document.get("connector", "openai"), document.get("llm")
        if not (isinstance(connector, str) and isinstance(model, str)):
            continue
        offered = providers.get(row.whole("organization_id"), {}).get(current_connector(connector))
        if draft.values["deleted_at"] is None and model and offered and model not in offered:
            draft.notes.append(
                f"Its organisation does not list the model {model[:100]!r} for "
                f"{connector!r}; a default model answers, as in LAMB."
            )


def _providers(config: str | None) -> Mapping[str, Sequence[str]]:
    """Return the models that an organisation lists for each connector."""
    providers = settings_member(config, "setups", "default", "providers")
    if not isinstance(providers, dict):
        return {}
    return {
        name: [each for each in provider["models"] if isinstance(each, str)]
        for name, provider in providers.items()
        if isinstance(provider, dict) and isinstance(provider.get("models"), list)
    }


async def note_budgets(tables: LambTables, drafts: Sequence[Draft]) -> None:
    """Add a note about each budget that LAMB stores outside of the assistant."""
    keys = [draft.id for draft in drafts]
    columns = ("quota_limit_usd", "is_blocked")
    alerts = {
        row.whole("assistant_id"): row
        for row in await tables.matching("assistant_quota_alerts", "assistant_id", keys, columns)
    }
    for draft in drafts:
        alert = alerts.get(draft.id)
        if alert is None:
            continue
        if alert.flag("is_blocked"):
            draft.notes.append(
                "LAMB blocks it because its budget is used up. Heddle compares its budget with the "
                "imported usage."
            )
        limit = alert.text("quota_limit_usd")
        if limit is not None and not _has_quota(draft):
            draft.notes.append(
                f"Its budget of {limit[:20]} US dollars is not in its metadata. Set it with PUT "
                f"/assistants/{draft.id}/quota."
            )


def _document(draft: Draft) -> dict[str, Any]:
    values = draft.values
    top_k = values["rag_top_k_json"]
    columns = LegacyColumns(None if top_k is None else json.loads(top_k), values["rag_collections"])
    try:
        return convert(parse(values["metadata"]), columns).metadata
    except (MalformedAssistantError, NewerFormatError):  # other notes say so
        return {}


def _named(document: Mapping[str, Any]) -> _Named:
    named: _Named = {}
    for binding in normal(document.get("tools")).bindings:
        for kind, name in _names_of(binding):
            named.setdefault(kind, []).append(name)
    return named


def _names_of(binding: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    config = binding["config"]
    if binding["type"] in KNOWLEDGE and isinstance(config.get("collections"), list):
        yield from (("collection", text(str(each))) for each in config["collections"])
    for member, kind in (("rubric_id", "rubric"), ("item_id", "document")):
        if isinstance(config.get(member), str | int) and config[member]:
            yield kind, text(str(config[member]))


async def _missing(
    tables: LambTables, places: Sequence[tuple[str, str]], names: Collection[str]
) -> set[str]:
    """Return which of `names` no table lists; none if LAMB has no such table."""
    if not names or not [place for place in places if await tables.columns(place[0])]:
        return set()
    missing = set(names)
    for table, column in places:
        for row in await tables.matching(table, column, sorted(names), ()):
            missing.discard(row.text(column) or "")
    return missing


def _braces(draft: Draft, document: Mapping[str, Any]) -> str:
    """Return a note about names in braces that are text in LAMB, and so in Heddle."""
    bindings = normal(document.get("tools")).bindings
    slots = {each.get("slot") or _SLOTS.get(each["type"], each["type"]) for each in bindings}
    if text(document.get("prompt_processor")).strip() == _MOODLE:
        slots.add(_MOODLE_SLOT)
    names = dict.fromkeys(_BRACED.findall(draft.values["prompt_template"] or ""))
    others = [f"{{{each}}}" for each in names if each not in {"user_input", CONTEXT, *slots}]
    if not others:
        return ""
    more = f" and {len(others) - _NAMES_IN_NOTE} more" if len(others) > _NAMES_IN_NOTE else ""
    return (
        f"Its template has {', '.join(others[:_NAMES_IN_NOTE])}{more}, which stay text as in LAMB."
    )


def _has_quota(draft: Draft) -> bool:
    try:
        return "quota" in parse(draft.values["metadata"])
    except MalformedAssistantError:
        return False
