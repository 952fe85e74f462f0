"""The weather of Open-Meteo, which needs no key."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.redaction import redact

from heddle_tools_service.capabilities.weather import CurrentWeather
from heddle_tools_service.providers.place_names import PlaceName
from heddle_tools_service.providers.remote import fetch
from heddle_tools_service.sdk import ToolError

_WHO = "Open-Meteo"
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru", "tr", "hi")
"""Those that the geocoder translates names into: it tells the name of a place in one at a time."""
_MOST_PLACES = 100
_LONGEST_REASON = 200
_HOTTEST = 100
_CONDITIONS = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "depositing rime fog",
    51: "light drizzle",
    53: "moderate drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "dense freezing drizzle",
    61: "slight rain",
    63: "moderate rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "heavy freezing rain",
    71: "slight snow fall",
    73: "moderate snow fall",
    75: "heavy snow fall",
    77: "snow grains",
    80: "slight rain showers",
    81: "moderate rain showers",
    82: "violent rain showers",
    85: "slight snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with slight hail",
    99: "thunderstorm with heavy hail",
}
"""The codes of the World Meteorological Organization that Open-Meteo uses."""
Place = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenMeteo:
    """Open-Meteo's two services."""

    http: httpx.AsyncClient
    forecasts: str
    """Where the forecast service is, without a slash at the end."""
    geocoder: str
    """Where the geocoder is, likewise."""

    async def now(self, city: str) -> CurrentWeather | None:
        """Return the weather of a city; see `heddle_tools_service.weather.Weather`."""
        wanted = PlaceName.read(city)
        place = await self._find(wanted) if wanted.is_one() else None
        if place is None:
            return None
        found = await self._get(
            f"{self.forecasts}/v1/forecast",
            {
                "latitude": place.get("latitude"),
                "longitude": place.get("longitude"),
                "current": "temperature_2m,weather_code",
                "temperature_unit": "celsius",
                "timezone": "auto",
            },
        )
        current = found.get("current")
        if not isinstance(current, Mapping) or not _is_temperature(current.get("temperature_2m")):
            raise ToolError(f"{_WHO} tells no temperature for {_label(place)}.")
        return CurrentWeather(
            _label(place),
            float(current["temperature_2m"]),
            _conditions(current.get("weather_code")),
            "Weather data by Open-Meteo.com",
            "https://open-meteo.com/",
        )

    async def _find(self, wanted: PlaceName) -> Place | None:
        """Return the most important place of the name. Usually English has it."""
        first, *others = _LANGUAGES
        if (place := await self._find_in(first, wanted)) is not None:
            return place
        found = await asyncio.gather(*(self._find_in(each, wanted) for each in others))
        return next(filter(None, found), None)

    async def _find_in(self, language: str, wanted: PlaceName) -> Place | None:
        # The bare name: not every version of the geocoder understands what follows a comma.
        asked = {"name": wanted.name, "count": _MOST_PLACES, "language": language}
        found = await self._get(f"{self.geocoder}/v1/search", {**asked, "format": "json"})
        places = found.get("results", [])  # left out if there are none
        if not isinstance(places, list):
            raise ToolError(f"The answer of {_WHO} cannot be read: its results are no list.")
        return next(_of_name(wanted, places), None)

    async def _get(self, url: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        request = self.http.build_request("GET", url, params=dict(parameters))
        status, found = await fetch(self.http, request, _WHO)
        if not isinstance(found, Mapping):
            raise ToolError(f"The answer of {_WHO} cannot be read: it is no object.")
        if status >= HTTPStatus.BAD_REQUEST or found.get("error"):
            reason = redact(str(found.get("reason", "")))[:_LONGEST_REASON]
            raise ToolError(f"{_WHO} refuses the request ({status}): {reason or 'no reason told'}")
        return found


def _is_temperature(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _HOTTEST


def _conditions(code: object) -> str:
    known = _CONDITIONS.get(code) if isinstance(code, int) else None
    return known or "unknown conditions"


def _of_name(wanted: PlaceName, places: Iterable[Any]) -> Iterator[Place]:
    return (place for place in places if isinstance(place, Mapping) and wanted.is_of(place))


def _label(place: Place) -> str:
    """Return a place with its region and country, so that nobody takes it for its namesake."""
    parts = (str(place[key]) for key in ("name", "admin1", "country") if place.get(key))
    return ", ".join(dict.fromkeys(parts))
