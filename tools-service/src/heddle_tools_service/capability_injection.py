"""Passes capabilities to the functions of tools, which request them by type."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, get_type_hints

from heddle_tools_service.sdk import ToolCall

Provider = Callable[[ToolCall[Any, Any]], object]
"""Returns a capability for one call, for example the passages that the assistant may search."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What tools can request: for each type, its provider."""

    providers: Mapping[type, Provider] = field(default_factory=dict)

    def problems(self, function: Callable[..., Any]) -> Iterator[str]:
        """Yield why `function` cannot be called with a `ToolCall` and the capabilities it requests.

        Each sentence names the parameter and the remedy.
        """
        try:
            call, *others = inspect.signature(function).parameters.values()
        except ValueError:
            yield "it must take the ToolCall as its first parameter"
            return
        if call.kind in (call.KEYWORD_ONLY, call.VAR_KEYWORD):
            yield "it must take the ToolCall as its first parameter"
        for parameter in others:
            if parameter.default is parameter.empty:
                yield from self._parameter_problems(function, parameter)

    def bind(self, function: Callable[..., Any]) -> Callable[[ToolCall[Any, Any]], Any]:
        """Return `function` with one parameter, the call. The capabilities are passed to it.

        The requests are resolved once, here.
        """
        requests = {
            name: self.providers[kind]
            for name, kind in _annotations(function).items()
            if kind in self.providers
        }
        if not requests:
            return function
        return lambda call: function(
            call, **{name: provider(call) for name, provider in requests.items()}
        )

    def _parameter_problems(
        self, function: Callable[..., Any], parameter: inspect.Parameter
    ) -> Iterator[str]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return
        if parameter.kind is parameter.POSITIONAL_ONLY:
            yield f"its parameter {parameter.name!r} is positional-only, remove the `/`"
            return
        kind = _annotation(function, parameter)
        if kind in self.providers:
            return
        request = "has no type annotation"
        if kind is not parameter.empty:
            request = f"requests {getattr(kind, '__name__', kind)!r}, which is not a capability"
        known = ", ".join(sorted(each.__name__ for each in self.providers)) or "none"
        yield (
            f"its parameter {parameter.name!r} {request}: annotate it with a registered class "
            f"({known}), or remove it"
        )


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        _, *others = inspect.signature(function).parameters.values()
    except ValueError:
        return {}
    return {each.name: _annotation(function, each) for each in others}


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - an author can annotate with any object
    """Return the annotation of a parameter; one that is text is evaluated where possible."""
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    names = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return get_type_hints(holder, names)[parameter.name]
    except (NameError, TypeError, SyntaxError, AttributeError):
        return parameter.annotation
