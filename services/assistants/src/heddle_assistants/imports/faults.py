"""The faults of imported assistants, which are stored as they are."""

from collections import defaultdict
from collections.abc import Sequence

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import LegacyColumns, StoredColumns, convert, parse, to_contract
from heddle_conversion.columns import collections_of
from heddle_conversion.fields import metadata_field
from heddle_conversion.import_notes import fault_note, will_not_answer
from heddle_runtime.errors import MalformedAssistantError, NewerFormatError

from heddle_assistants.imports.conflict_resolution import Draft
from heddle_assistants.validation import Validation

_Settings = tuple[str | None, object, int]
"""The members on which the faults of an assistant depend: most assistants share them with many."""


async def note_faults(drafts: Sequence[Draft], validation: Validation) -> None:
    """Add a note about each fault to the drafts of assistants that are not deleted.

    Nothing is checked in a process without an orchestrator.
    """
    if not validation.enabled:
        return
    alike: dict[_Settings, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.values["deleted_at"] is None:
            alike[_settings(draft)].append(draft)
    to_check: list[tuple[list[Draft], pb.Assistant]] = []
    for same in alike.values():
        try:
            assistant, notes = _converted(same[0])
        except (MalformedAssistantError, NewerFormatError) as error:
            _note(same, [will_not_answer(error.message)])
            continue
        _note(same, notes)
        to_check.append((same, assistant))
    findings = await validation.check_batch([assistant for _, assistant in to_check])
    unchecked = next((each.warnings for each in findings if each.unchecked), None)
    if unchecked:  # one note is enough for all
        note = f"It and the others of its batch are {unchecked[0].description}."
        _note(to_check[0][0][:1], [note])
    for (same, _), each in zip(to_check, findings, strict=True):
        faults = [(metadata_field(v.field), v.description.rstrip(".")) for v in each.violations]
        _note(same, [fault_note(field, problem) for field, problem in faults])


def _settings(draft: Draft) -> _Settings:
    values = draft.values
    collections, _ = collections_of(values["rag_collections"], exact=True)
    return values["metadata"], str(values["rag_top_k"]), len(collections)


def _note(drafts: Sequence[Draft], notes: Sequence[str]) -> None:
    for draft in drafts:
        draft.notes += notes


def _converted(draft: Draft) -> tuple[pb.Assistant, Sequence[str]]:
    values = draft.values
    columns = LegacyColumns(values["rag_top_k"], values["rag_collections"])
    conversion = convert(parse(values["metadata"]), columns)
    return to_contract(conversion.metadata, StoredColumns(id=values["id"])), conversion.notes
