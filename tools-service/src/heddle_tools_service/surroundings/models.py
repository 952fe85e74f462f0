"""How a tool asks a small model."""

from typing import Protocol


class Generate(Protocol):
    """The small fast model for work inside of tools."""

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - the limit travels with the call to the model
        """Return the model's answer to `prompt`."""
