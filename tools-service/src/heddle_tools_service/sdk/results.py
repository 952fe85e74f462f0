"""Results and errors of tools."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class ToolError(Exception):
    """The failure of a tool.

    Users and models read the message: it says what they can do, without secrets, addresses and
    names of settings. Those belong into the diagnosis.
    """

    def __init__(
        self,
        message: str = "",
        *,
        kind: str = "",
        details: Mapping[str, Any] | None = None,
        diagnosis: str = "",
    ) -> None:
        """Create an error.

        Args:
            message: The fault, and how to correct it.
            kind: The tool's own word for the kind of error, for programs and for the model.
            details: Further data for the model, as plain JSON. The routing agent reads
                `recoverable` (default: whether it is a `ToolUnavailableError`) and `suggestion`.
            diagnosis: The cause and its remedy for operators. It is logged and never sent.
        """
        super().__init__(message)
        self.kind = kind
        self.diagnosis = diagnosis
        self.details = dict(details or {})


class ToolUnavailableError(ToolError):
    """A service that the tool needs does not answer; a later attempt may succeed."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a result."""

    title: str
    uri: str = ""
    """The address at which people can read it."""
    excerpt: str = ""
    """The passage that was used."""
    score: float | None = None
    """The similarity; None if the tool does not rank. 0.0 is a rank."""
    kind: str = "passage"
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool."""

    text: str
    """The text, which goes into the template's slot unchanged."""
    sources: Sequence[Source] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    """Facts for traces, plain JSON; not shown to the model. No contents, no secrets."""
    warnings: Sequence[str] = ()
    """Parts of the work that failed while the rest succeeded, one sentence each."""
    slot: str = ""
    """The slot to fill, if it is another than the tool's own."""
    objects: Sequence[Mapping[str, Any]] = ()
    """The results one by one, as plain JSON, for the environment of the routing agent. Without
    them the text is the one object, `{"text": …}`."""
    name: str = ""
    """The kind of the objects, for example their collection. Empty: the tool's name."""
    message: str = ""
    """One sentence about the result for the router of the agent."""
    count: int | None = None
    """How many items a search found; None for tools that do not search. With 0, `text` is a
    sentence that says what was searched, and the routing agent stores no object."""

    def __post_init__(self) -> None:
        """Refuse common mistakes early, so that the traceback shows the line of the tool.

        Raises:
            TypeError: The text is none, or the warnings are a text instead of several.
        """
        if not isinstance(self.text, str):
            message = f"the text of a ToolResult is a str, not {type(self.text).__name__}"
            raise TypeError(message)
        if isinstance(self.warnings, str):
            raise TypeError("the warnings of a ToolResult are a list of sentences, not a str")

    @classmethod
    def json(cls, value: Any, **others: Any) -> "ToolResult":
        """Return a result whose text is JSON, as models like to read what a function returns."""
        return cls(json.dumps(value, ensure_ascii=False), **others)
