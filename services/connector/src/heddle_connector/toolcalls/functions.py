"""The functions that a request declares."""

from collections.abc import Mapping, Sequence
from typing import Any


class Functions:
    """Looks names up, and the schemas of parameters."""

    __slots__ = ("_parameters",)

    def __init__(self, functions: Sequence[Mapping[str, Any]]) -> None:
        """Take OpenAI's function objects, or the tool objects around them."""
        self._parameters: dict[str, Mapping[str, Any]] = {}
        for item in functions:
            function = item.get("function", item)
            parameters = function.get("parameters")
            self._parameters[str(function.get("name", ""))] = (
                parameters if isinstance(parameters, Mapping) else {}
            )

    def __bool__(self) -> bool:
        return bool(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they were given."""
        return tuple(self._parameters)

    def plausible(self, name: str) -> bool:
        """Return whether `name` may be a function: it is known, or no functions are known."""
        return not self._parameters or name in self._parameters

    def schema(self, name: str) -> Mapping[str, Any]:
        """Return the schema of all parameters; empty if the function is unknown."""
        return self._parameters.get(name, {})

    def properties(self, name: str) -> Mapping[str, Any]:
        """Return the schemas of the parameters; empty if the function is unknown."""
        properties = self.schema(name).get("properties")
        return properties if isinstance(properties, Mapping) else {}
