"""Capability: the current weather."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CurrentWeather:
    """The current weather of a place."""

    place: str
    """The place with its region and country, for example `Paris, Île-de-France, France`."""
    celsius: float
    conditions: str
    """In words, for example `light rain`."""
    attribution: str
    """The attribution that the provider of the data requires."""
    address: str
    """The address of the provider of the data."""


class Weather(Protocol):
    """A weather service."""

    async def now(self, city: str) -> CurrentWeather | None:
        """Return the weather of `city`; `place` of the result is the place that was used.

        None if the geocoder knows no place of this name. A place with another name is never used.

        Args:
            city: The name, alone or followed by a comma and its region or country.

        Raises:
            ToolError: The service's answer is invalid.
            ToolUnavailableError: The service does not answer.
        """
