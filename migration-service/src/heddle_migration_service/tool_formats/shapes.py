"""What tools of LAMB's formats receive and return."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.sdk import Source, ToolCall, ToolError, ToolResult

_DEFAULT_TOP_K = 3
_MISSING = object()
_SOURCE_MEMBERS = frozenset(
    {
        *("title", "name", "filename", "url", "path", "similarity", "score", "type"),
        *("content", "text", "excerpt"),
    }
)


@dataclass
class LegacyAssistant:
    """An assistant as LAMB's plugins know it, its columns included."""

    id: int | str
    name: str
    description: str
    owner: str
    organization_id: str
    system_prompt: str
    prompt_template: str
    RAG_collections: str
    """Comma-separated, from the tool's configuration."""
    RAG_Top_k: int
    metadata: str
    """The text of a JSON object, which LAMB also calls `api_callback`."""
    api_callback: str
    RAG_endpoint: str = ""
    pre_retrieval_endpoint: str = ""
    post_retrieval_endpoint: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, call: ToolCall[dict[str, Any]]) -> "LegacyAssistant":
        """Return the assistant of a call, its tool's configuration in the old places."""
        known, config = call.assistant, call.config
        collections = config.get("collections", ())
        model = {"connector": known.connector, "llm": known.model}
        metadata = json.dumps({**model, **config}, ensure_ascii=False)
        return cls(
            id=int(known.id) if known.id.isascii() and known.id.isdecimal() else known.id,
            name=known.name,
            description=known.description,
            owner=known.owner,
            organization_id=known.organization,
            system_prompt=known.system_prompt,
            prompt_template=known.prompt_template,
            RAG_collections=",".join(map(str, collections)),
            RAG_Top_k=config.get("top_k", _DEFAULT_TOP_K),
            metadata=metadata,
            api_callback=metadata,
        )


def to_result(output: object) -> ToolResult:
    """Return the result of a legacy tool: a dict or an object with the members of LAMB's.

    Raises:
        ToolError: It has an error and no content.
        TypeError: It has neither.
    """
    if isinstance(output, ToolResult):
        return output
    content = member(output, "content", None)
    if content is None:
        content = member(output, "context", None)
    error = member(output, "error", None)
    if content is None and error is None:
        message = f"the tool returned a {type(output).__name__} without content"
        raise TypeError(message)
    if error and not content:
        raise ToolError(str(error))
    metadata = member(output, "metadata", None)
    return ToolResult(
        str(content or ""),
        [_source(source) for source in member(output, "sources", None) or ()],
        dict(metadata) if isinstance(metadata, Mapping) else {},
        [str(error)] if error else [],
        str(member(output, "placeholder", None) or ""),
    )


def member(definition: object, name: str, default: object = _MISSING) -> Any:  # noqa: ANN401 - whatever the author put there
    """Return a member of a definition, which may be a dict or an object."""
    if isinstance(definition, Mapping):
        value = definition.get(name, default)
    else:
        value = getattr(definition, name, default)
    if value is _MISSING:
        raise DefinitionError(f"get_definition() tells no {name!r}. Add it.")
    return default if value is None and default is not _MISSING else value


def _source(source: object) -> Source:
    if not isinstance(source, Mapping):
        return Source(str(source))
    score = source.get("similarity", source.get("score"))
    return Source(
        title=str(source.get("title") or source.get("name") or source.get("filename") or "Unknown"),
        uri=str(source.get("url") or source.get("path") or ""),
        score=float(score) if isinstance(score, int | float) else None,
        excerpt=str(source.get("content") or source.get("text") or source.get("excerpt") or ""),
        kind=str(source.get("type") or "passage"),
        attributes=dict(_attributes(source)),
    )


def _attributes(source: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for name, value in source.items():
        if name not in _SOURCE_MEMBERS and isinstance(value, str | int | float):
            yield str(name), str(value)
