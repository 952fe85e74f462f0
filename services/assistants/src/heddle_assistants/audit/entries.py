"""Audit events in the form that is stored."""

import json
import time
from typing import Any

from heddle_runtime.contract.audit import Change, field_changes, text_of
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import Identity

from heddle_assistants.audit.chain import ChainKeys

DONE, REFUSED = "done", "refused"
MAX_TEXT = 320
_NOBODY = Identity("")
"""The actor of work that a service does by itself: outside of calls there is no request id."""
Entry = dict[str, Any]
"""The columns of an event without its place in the chain."""


def entry_of(change: Change, keys: ChainKeys) -> Entry:
    """Return the event of a change by the current caller."""
    current = caller()
    identity = current.identity if current.request_id else _NOBODY
    return {
        "recorded_at": int(time.time()),
        "organization": storable(change.organization),
        "subject": storable(identity.subject),
        "subject_organization": storable(identity.organization),
        "scopes": storable(" ".join(identity.scopes)),
        "client_user": storable(identity.client_user),
        "api_key_id": storable(identity.key_id),
        "action": change.action,
        "object_type": change.object_type,
        "object_id": storable(change.object_id),
        "outcome": REFUSED if change.refused else DONE,
        "changes": stored_changes([each.as_json() for each in field_changes(change)]),
        "before_digest": "" if change.before is None else keys.of_object(text_of(change.before)),
        "after_digest": "" if change.after is None else keys.of_object(text_of(change.after)),
        "request_id": storable(current.request_id),
        "trace_id": trace_id(current.traceparent),
    }


def stored_changes(changes: list[list[str | None]]) -> str:
    """Return the text of the fields that differ. JSON escapes what a database cannot store."""
    return json.dumps(changes)


def storable(text: str) -> str:
    """Return a text that both databases store, of limited length."""
    return text[:MAX_TEXT].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def trace_id(traceparent: str) -> str:
    """Return the id of the trace of a W3C `traceparent`; empty if there is none."""
    parts = traceparent.split("-")
    return storable(parts[1][:32]) if len(parts) > 2 else ""  # noqa: PLR2004 - version, trace, span
