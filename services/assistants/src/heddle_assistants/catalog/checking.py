"""Checks the assistants of requests, independently of what is installed."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import (
    VERSION_KEY,
    MalformedMetadataError,
    from_contract,
    newest,
)
from heddle_conversion.bindings import fillable, numbered
from heddle_conversion.contract import PROMPT_PROCESSOR
from heddle_conversion.json_text import checked, same
from heddle_runtime.contract.limits import (
    MAX_TOOL_SECONDS,
    MAX_TOOLS,
    MIN_TOOL_SECONDS,
    is_tool_timeout,
)
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.contract.validation import UNKNOWN_MEMBER
from heddle_runtime.errors import Violation

from heddle_assistants.field_checks import (
    NO_USER,
    may_be_user,
    name_violations,
    nul_violations,
)

_FILE_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}"
_BEFORE_MODEL = (pb.MODE_UNSPECIFIED, pb.MODE_AUGMENT)
_TEXTS = ("name", "title", "description", "owner", "system_prompt", "prompt_template")


def document_of(assistant: pb.Assistant) -> tuple[dict[str, Any] | None, list[Violation]]:
    """Return the metadata of a request's assistant, and its faults.

    The metadata is None if the assistant cannot be stored at all.
    """
    texts = {name: getattr(assistant, name) for name in _TEXTS}
    unstorable = nul_violations(texts, "assistant.")
    document: dict[str, Any] | None = None
    try:
        document = checked(from_contract(_completed(assistant)))
    except MalformedMetadataError as error:
        unstorable += [Violation("assistant.extra_json", v.description) for v in error.violations]
    except (ValueError, json_format.Error):
        pass  # a number that JSON does not have, which is a violation of its binding
    else:
        if not same(document[VERSION_KEY], newest()):
            what = f"must not have another {VERSION_KEY} than {newest()}"
            unstorable.append(Violation("assistant.extra_json", what))
    return None if unstorable else document, [*unstorable, *violations_of(assistant)]


def file_violations(assistant: pb.Assistant) -> list[Violation]:
    """Return the faults that prevent the use of an assistant of the folder."""
    violations = name_violations(assistant.name, "assistant.name")
    if not re.fullmatch(_FILE_ID, assistant.id, re.ASCII):
        violations.append(Violation("assistant.id", f"must match {_FILE_ID}"))
    return violations


def with_defaults(assistant: pb.Assistant) -> pb.Assistant:
    """Return an assistant whose tools have the default mode and failure policy if they set none."""
    complete = pb.Assistant()
    complete.CopyFrom(assistant)
    for binding in complete.tools:
        binding.mode = binding.mode or pb.MODE_AUGMENT
        binding.on_failure = binding.on_failure or pb.FAILURE_POLICY_NOTE
    return complete


def _completed(assistant: pb.Assistant) -> pb.Assistant:
    """Return an assistant with a prompt processor and ids of tools, by default if it sets none."""
    checked = pb.Assistant()
    checked.CopyFrom(assistant)
    checked.prompt_processor = assistant.prompt_processor or PROMPT_PROCESSOR
    documents = (
        {"type": each.tool, **({"id": each.id} if each.id else {})} for each in checked.tools
    )
    for binding, document in zip(checked.tools, numbered(documents), strict=True):
        binding.id = document["id"]
    return checked


def violations_of(assistant: pb.Assistant) -> Iterator[Violation]:
    """Yield the faults of an assistant that do not depend on what is installed."""
    if not may_be_user(assistant.owner):
        yield Violation("assistant.owner", NO_USER)
    for name in ("connector", "model"):
        if not getattr(assistant.model, name).strip():
            yield Violation(f"assistant.model.{name}", "is required")
    if len(assistant.tools) > MAX_TOOLS:
        yield Violation("assistant.tools", f"must have at most {MAX_TOOLS} items")
    ids = Counter(binding.id for binding in assistant.tools)
    for index, binding in enumerate(assistant.tools):
        field = f"assistant.tools[{index}]"
        if binding.id and ids[binding.id] > 1:
            yield Violation(f"{field}.id", "must be unique in the assistant")
        yield from _of_binding(binding, field)


def _of_binding(binding: pb.ToolBinding, field: str) -> Iterator[Violation]:
    if not binding.tool.strip():
        yield Violation(f"{field}.tool", "is required")
    if binding.slot and not fillable(binding.slot):
        what = "must be at most 63 letters, digits and _, with a letter in it, and not user_input"
        yield Violation(f"{field}.slot", what)
    if binding.mode not in pb.Mode.values():
        yield Violation(f"{field}.mode", UNKNOWN_MEMBER)
    if binding.on_failure not in pb.FailurePolicy.values():
        yield Violation(f"{field}.on_failure", UNKNOWN_MEMBER)
    if binding.on_change not in pb.ChangePolicy.values():
        yield Violation(f"{field}.on_change", UNKNOWN_MEMBER)
    if binding.on_change == pb.CHANGE_POLICY_ASK and binding.mode in _BEFORE_MODEL:
        what = "must not be ask before the model, where the user cannot be asked: use another mode"
        yield Violation(f"{field}.on_change", what)
    try:
        from_struct(binding.config)
    except (ValueError, json_format.Error):
        yield Violation(f"{field}.config", "holds a number that JSON cannot write")
    if binding.HasField("timeout"):
        seconds = binding.timeout.seconds + binding.timeout.nanos / 1e9
        if not is_tool_timeout(seconds):
            what = f"must be from {MIN_TOOL_SECONDS} s to {MAX_TOOL_SECONDS} s"
            yield Violation(f"{field}.timeout", what)
