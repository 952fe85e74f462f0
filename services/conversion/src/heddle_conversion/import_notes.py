"""The sentences in notes of an import that say whether an assistant answers."""

from collections.abc import Sequence

_UNUSABLE = "It will not answer: "
_WITHOUT = "It may answer without a part: "
_WHOLE = ("model.", "connector", "llm", "prompt_processor", "orchestrator", "strategy")


def fault_note(field: str, problem: str) -> str:
    """Return the note about a fault of an assistant.

    Args:
        field: The path in its metadata.
        problem: The fault, without a full stop.
    """
    whole = field.startswith(_WHOLE)
    return f"{_UNUSABLE if whole else _WITHOUT}{field}: {problem}."


def will_not_answer(reason: str) -> str:
    """Return the note that an assistant will not answer."""
    return f"{_UNUSABLE}{reason}"


def answers_without(reason: str) -> str:
    """Return the note that an assistant may answer without one of its tools, or without data."""
    return f"{_WITHOUT}{reason}"


def is_unusable(notes: Sequence[str]) -> bool:
    """Return whether notes say that an assistant will not answer."""
    return any(note.startswith(_UNUSABLE) for note in notes)


def is_incomplete(notes: Sequence[str]) -> bool:
    """Return whether notes say that an assistant answers without one of its parts."""
    return any(note.startswith(_WITHOUT) for note in notes)
