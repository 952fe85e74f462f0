"""Current weather from Open-Meteo, which needs no key."""

import asyncio
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.redaction import redact_personal

from heddle_tools_service.capabilities.weather import CurrentWeather
from heddle_tools_service.providers.remote import fetch
from heddle_tools_service.sdk import ToolError

_WHO = "Open-Meteo"
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru", "tr", "hi")
"""The languages of the geocoder's place names. Each search returns names in one of them."""
_AREAS = ("country", "country_code", "admin1", "admin2", "admin3", "admin4")
_CITY_CODES = ("PPL", "ADM")
"""The prefixes of GeoNames' codes of populated places and of administrative areas."""
_MAX_PLACES = 100
_MAX_REASON_CHARS = 200
_MAX_CELSIUS = 100
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
    """The address of the forecast service, without a slash at the end."""
    geocoder: str
    """The address of the geocoder, likewise."""

    async def now(self, city: str) -> CurrentWeather | None:
        """Return the weather of a city; see the capability `Weather`."""
        place = await self._find(city)
        if place is None:
            return None
        forecast = await self._get(
            f"{self.forecasts}/v1/forecast",
            {
                "latitude": place.get("latitude"),
                "longitude": place.get("longitude"),
                "current": "temperature_2m,weather_code",
                "temperature_unit": "celsius",
                "timezone": "auto",
            },
        )
        current = forecast.get("current")
        if not isinstance(current, Mapping) or not _is_temperature(current.get("temperature_2m")):
            raise ToolError(f"{_WHO} tells no temperature for {_label(place)}.")
        return CurrentWeather(
            _label(place),
            float(current["temperature_2m"]),
            _conditions(current.get("weather_code")),
            "Weather data by Open-Meteo.com",
            "https://open-meteo.com/",
        )

    async def _find(self, city: str) -> Place | None:
        """Return the geocoder's first place of this name, in the areas after the commas."""
        name, *areas = map(_plain, city.split(","))
        if not name:
            return None
        first, *others = _LANGUAGES
        places = await self._places(city, first)
        if not any(_plain(str(place.get("name"))) == name for place in places):
            results = await asyncio.gather(*(self._places(city, each) for each in others))
            places = [place for result in results for place in result]
        return next((place for place in places if _matches(place, name, set(areas))), None)

    async def _places(self, city: str, language: str) -> Sequence[Place]:
        # Without the areas: not every version of the geocoder supports them.
        name = city.partition(",")[0].strip()
        query = {"name": name, "count": _MAX_PLACES, "language": language, "format": "json"}
        answer = await self._get(f"{self.geocoder}/v1/search", query)
        places = answer.get("results", [])  # left out if there are none
        if not isinstance(places, list):
            raise ToolError(f"The answer of {_WHO} cannot be read: its results are no list.")
        return [place for place in places if isinstance(place, Mapping)]

    async def _get(self, url: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        request = self.http.build_request("GET", url, params=dict(parameters))
        status, answer = await fetch(self.http, request, _WHO)
        if not isinstance(answer, Mapping):
            raise ToolError(f"The answer of {_WHO} cannot be read: it is no object.")
        if status >= HTTPStatus.BAD_REQUEST or answer.get("error"):
            reason = redact_personal(str(answer.get("reason", "")))[:_MAX_REASON_CHARS]
            raise ToolError(f"{_WHO} refuses the request ({status}): {reason or 'no reason given'}")
        return answer


def _is_temperature(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _MAX_CELSIUS


def _conditions(code: object) -> str:
    conditions = _CONDITIONS.get(code) if isinstance(code, int) else None
    return conditions or "unknown conditions"


def _matches(place: Place, name: str, areas: set[str]) -> bool:
    """Return whether the geocoder's place has this name and lies in these areas.

    Geocoders return similar names if there is none that is equal, and countries.
    """
    if not str(place.get("feature_code", "")).startswith(_CITY_CODES):
        return False
    known = {_plain(str(place[key])) for key in _AREAS if place.get(key)}
    return _plain(str(place.get("name"))) == name and areas - {""} <= known


def _plain(text: str) -> str:
    """Return the words of `text` without case, accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"\w+", bare))


def _label(place: Place) -> str:
    parts = (str(place[key]) for key in ("name", "admin1", "country") if place.get(key))
    return ", ".join(dict.fromkeys(parts))
