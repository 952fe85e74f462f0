"""Tells whether a place that a geocoder offers is the one that was asked for.

Geocoders are made for search boxes: they offer what is spelt alike rather than nothing. Here only a
place of the very name counts, in the region and country that were named.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heddle_tools_service.providers.american_states import STATES

_LETTERS = re.compile(r"[^\w]+")
_AREAS = ("country", "country_code", "admin1", "admin2", "admin3", "admin4")
_COUNTRIES = {
    "uk": "gb",
    "england": "gb",
    "great britain": "gb",
    "usa": "us",
    "u s a": "us",
    "u s": "us",
    "united states of america": "us",
    "uae": "ae",
}
"""Words for countries that no geocoder's answer holds, and their codes."""
_TOWNS = ("PPL", "ADM")
"""GeoNames' codes of populated places and of administrative areas begin so."""


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A name as somebody wrote it: `Paris`, `Paris, France`, `Austin, TX, USA`."""

    name: str
    areas: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "PlaceName":
        """Return what `text` names."""
        name, *areas = (part.strip() for part in text.split(","))
        return cls(name, tuple(filter(None, areas)))

    def is_one(self) -> bool:
        """Return whether it has a letter or a digit."""
        return bool(plain(self.name))

    def is_of(self, place: Mapping[str, Any]) -> bool:
        """Return whether `place`, an entry of Open-Meteo's answer, is what is named."""
        if not str(place.get("feature_code", "")).startswith(_TOWNS):
            return False
        if not self.is_one() or plain(self.name) != plain(str(place.get("name", ""))):
            return False
        known = {plain(str(place[key])) for key in _AREAS if place.get(key)}
        return all(known & _readings(plain(area), known) for area in self.areas)


def plain(text: str) -> str:
    """Return `text` without case, accents and punctuation, its words one space apart."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_LETTERS.sub(" ", bare).split())


def _readings(area: str, known: set[str]) -> set[str]:
    """Return what `area` can stand for."""
    readings = {area, _COUNTRIES.get(area, area)}
    if "us" in known and area in STATES:
        readings.add(STATES[area])
    return readings
