"""Capability: the small fast model for work inside tools."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from heddle_tools_service.sdk.results import ToolUnavailableError


class Generate(Protocol):
    """Calls the model."""

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - the limit travels with the call to the model
        """Return the model's answer to `prompt`."""


@dataclass(frozen=True, slots=True)
class SmallModel:
    """The small fast model, within the time of one call of a tool."""

    MAX_SECONDS: ClassVar[float] = 10.0
    """The time limit of `generate`."""

    model: Generate | None
    """None if no model is configured."""
    seconds: float
    """The time limit of the tool's call."""

    @property
    def configured(self) -> bool:
        """Whether the operator has configured a small model."""
        return self.model is not None

    async def generate(self, prompt: str, *, max_tokens: int = 200) -> str:
        """Return the model's answer to `prompt`.

        Takes at most a third of the call's time and at most 10 s. A tool that can work without the
        answer therefore has time left when the model does not answer.

        Raises:
            ToolUnavailableError: No model is configured, or it does not answer.
        """
        if self.model is None:
            raise ToolUnavailableError("No small fast model is configured.")
        limit = min(self.MAX_SECONDS, self.seconds / 3)
        return await self.model(prompt, timeout=limit, max_tokens=max_tokens)
