"""Passes capabilities to the functions of tools, which request them by type."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heddle_tools_service.sdk import ToolCall

Provider = Callable[[ToolCall[Any, Any]], object]
"""Returns a capability for one call, for example the passages that the assistant may search."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities that tools can request, with a provider for each type."""

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
        annotations = _annotations(function)
        for parameter in others:
            if parameter.default is parameter.empty:
                yield from self._parameter_problems(parameter, annotations[parameter.name])

    def bind(self, function: Callable[..., Any]) -> Callable[[ToolCall[Any, Any]], Any]:
        """Return `function` with the call as its only parameter; capabilities are bound to it.

        The parameters are resolved once, when this is called.
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

    def _parameter_problems(self, parameter: inspect.Parameter, kind: object) -> Iterator[str]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return
        if parameter.kind is parameter.POSITIONAL_ONLY:
            yield f"its parameter {parameter.name!r} is positional-only, remove the `/`"
            return
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
    """Return the annotations of the parameters after the first, with texts evaluated if possible.

    If one of them cannot be evaluated, none is.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, SyntaxError, AttributeError):
        signature = inspect.signature(function)
    _, *others = signature.parameters.values()
    return {each.name: each.annotation for each in others}
