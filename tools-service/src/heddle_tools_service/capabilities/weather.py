"""The weather as tools see it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CurrentWeather:
    """How it is in a place now."""

    place: str
    """The place with its region and country, for example `Paris, Île-de-France, France`."""
    celsius: float
    conditions: str
    """In words, for example `light rain`."""
    attribution: str
    """Whom to name for the data."""
    address: str
    """Where the provider of the data is found."""


class Weather(Protocol):
    """A weather service."""

    async def now(self, city: str) -> CurrentWeather | None:
        """Return the weather of `city`, which may go on with its region or country.

        None if there is no such place: a place of another name is never taken for it.

        Raises:
            ToolError: The service answers nonsense.
            ToolUnavailableError: It does not answer.
        """
