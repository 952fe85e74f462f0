"""The tool `weather`, through the whole service, against a server that speaks as Open-Meteo."""

import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ToolFailedError,
    UnavailableError,
)
from tools_service.calling import Calling, calling_tools
from tools_service.open_meteo import FakeOpenMeteo, open_meteo, place

PARIS = place("Paris", "France", "FR", admin1="Île-de-France")
TEXAN = place("Paris", "United States", "US", admin1="Texas", feature_code="PPLA2")
ATLANTA = place("Atlanta", "United States", "US", admin1="Georgia")


@pytest.fixture
async def sky() -> AsyncIterator[FakeOpenMeteo]:
    async with open_meteo() as server:
        yield server


@pytest.fixture
async def tools(sky: FakeOpenMeteo, tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, **addresses(sky)) as calling:
        yield calling


def addresses(sky: FakeOpenMeteo) -> dict[str, Any]:
    return {"weather_url": sky.url, "geocoding_url": f"{sky.url}/"}


async def ask(tools: Calling, **arguments: Any) -> dict[str, Any]:
    return await tools.answer("weather", "get_weather", **arguments)


async def refused(tools: Calling, city: str) -> HeddleError:
    error = await tools.failure("weather", "get_weather", city=city)
    assert json.loads(error.metadata["details_json"]) == {"city": city, "success": False}
    return error


async def test_a_city_is_answered_with_its_temperature(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.places = {"en": [PARIS]}

    assert await ask(tools, city="Paris") == {
        "city": "Paris, Île-de-France, France",
        "temperature_celsius": 8.4,
        "conditions": "slight rain",
        "success": True,
    }
    [asked] = sky.forecasts
    assert asked["current"] == "temperature_2m,weather_code"
    assert asked["temperature_unit"] == "celsius"
    assert (asked["latitude"], asked["longitude"]) == ("48.85341", "2.3488")


async def test_the_data_is_attributed(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.places = {"en": [PARIS]}
    result = await tools.call("weather", "get_weather", city="Paris")
    assert [(s.title, s.uri) for s in result.sources] == [
        ("Weather data by Open-Meteo.com", "https://open-meteo.com/")
    ]


@pytest.mark.parametrize("found", [[], [ATLANTA], [ATLANTA, PARIS]])
async def test_an_unknown_city_is_an_error_and_never_another_city(
    tools: Calling, sky: FakeOpenMeteo, found: list[dict[str, Any]]
) -> None:
    sky.places = {"en": found, "de": found}
    error = await refused(tools, "Atlantis")
    assert isinstance(error, ToolFailedError)
    assert error.message.startswith("No city is named 'Atlantis'. ")
    assert error.metadata["kind"] == "unknown_city"
    assert not sky.forecasts


async def test_a_name_in_another_language_is_found(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.places = {
        "en": [place("Munich", "Germany", "DE")],
        "de": [place("München", "Deutschland", "DE")],
    }
    assert (await ask(tools, city="münchen"))["city"] == "München, Deutschland"
    assert len(sky.searches) == 9


async def test_the_region_decides_among_namesakes(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.places = {"en": [PARIS, TEXAN]}
    for city in ("Paris, Texas", "Paris, US", "paris, texas, united states"):
        assert (await ask(tools, city=city))["city"] == "Paris, Texas, United States"
    assert {search["name"] for search in sky.searches} == {"Paris", "paris"}
    await refused(tools, "Paris, Atlantis")


@pytest.mark.parametrize(
    ("city", "place_of_geocoder"),
    [
        ("São Paulo", place("Sao Paulo", "Brazil", "BR")),
        ("Stratford-upon-Avon", place("Stratford upon Avon", "United Kingdom", "GB")),
        ("Paris, FR", PARIS),
        ("東京", place("東京", "日本", "JP")),
    ],
)
async def test_case_accents_and_punctuation_do_not_count(
    tools: Calling, sky: FakeOpenMeteo, city: str, place_of_geocoder: dict[str, Any]
) -> None:
    sky.places = {"en": [place_of_geocoder]}
    assert (await ask(tools, city=city))["city"].startswith(place_of_geocoder["name"])


@pytest.mark.parametrize("city", ["Par", "Paris Airport", "Paris, CA"])
async def test_a_similar_name_is_not_used(tools: Calling, sky: FakeOpenMeteo, city: str) -> None:
    sky.places = {"en": [PARIS]}
    await refused(tools, city)


async def test_a_country_is_no_city(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.places = {"en": [place("France", "France", "FR", feature_code="PCLI")]}
    await refused(tools, "France")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_cannot_answer_now_is_told(
    tools: Calling, sky: FakeOpenMeteo, status: int
) -> None:
    sky.answer = status
    error = await refused(tools, "Paris")
    assert isinstance(error, UnavailableError)
    assert error.message == f"Open-Meteo answered {status}."


async def test_a_refusal_carries_the_reason(tools: Calling, sky: FakeOpenMeteo) -> None:
    sky.answer = 400
    error = await refused(tools, "Paris")
    assert isinstance(error, ToolFailedError)
    assert error.message.endswith("(400): Minutely API request limit exceeded.")


async def test_a_server_that_is_too_slow_is_told(sky: FakeOpenMeteo, tmp_path: Path) -> None:
    sky.delay = 60
    async with calling_tools(tmp_path, http_timeout=0.5, **addresses(sky)) as tools:
        error = await refused(tools, "Paris")
    assert isinstance(error, UnavailableError)
    assert error.message == "Open-Meteo did not answer in time."


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"results": 5}', b'{"current": {}}', b"[" * 100_000]
)
async def test_nonsense_is_told(tools: Calling, sky: FakeOpenMeteo, body: bytes) -> None:
    sky.answer = body
    assert isinstance(await refused(tools, "Paris"), ToolFailedError)


@pytest.mark.parametrize(
    "current",
    [
        {},
        {"temperature_2m": None},
        {"temperature_2m": "warm"},
        {"temperature_2m": True},
        {"temperature_2m": math.inf},
    ],
)
async def test_a_forecast_without_a_temperature_is_an_error(
    tools: Calling, sky: FakeOpenMeteo, current: dict[str, Any]
) -> None:
    sky.places = {"en": [PARIS]}
    sky.current = current
    assert "tells no temperature" in (await refused(tools, "Paris")).message


@pytest.mark.parametrize(
    ("code", "conditions"), [(0, "clear sky"), (3, "overcast"), (45, "fog"), (95, "thunderstorm")]
)
async def test_a_code_of_the_weather_becomes_words(
    tools: Calling, sky: FakeOpenMeteo, code: int, conditions: str
) -> None:
    sky.places = {"en": [PARIS]}
    sky.current = {"temperature_2m": 1, "weather_code": code}
    assert (await ask(tools, city="Paris"))["conditions"] == conditions


@pytest.mark.parametrize("code", [1000, None, [61]])
async def test_an_unknown_code_is_said_to_be_unknown(
    tools: Calling, sky: FakeOpenMeteo, code: Any
) -> None:
    sky.places = {"en": [PARIS]}
    sky.current = {"temperature_2m": -3, "weather_code": code}
    answer = await ask(tools, city="Paris")
    assert (answer["temperature_celsius"], answer["conditions"]) == (-3, "unknown conditions")


@pytest.mark.parametrize("arguments", [{}, {"city": ""}, {"city": 5}, {"city": "Paris", "k": 1}])
async def test_wrong_arguments_are_listed_and_nobody_is_asked(
    tools: Calling, sky: FakeOpenMeteo, arguments: dict[str, Any]
) -> None:
    error = await tools.failure("weather", "get_weather", **arguments)
    assert isinstance(error, InvalidRequestError)
    assert error.violations
    assert not sky.searches


@pytest.mark.parametrize("city", [" ", "?!", ", France"])
async def test_a_name_of_nothing_is_unknown_and_nobody_is_asked(
    tools: Calling, sky: FakeOpenMeteo, city: str
) -> None:
    error = await tools.failure("weather", "get_weather", city=city)
    assert error.metadata["kind"] == "unknown_city"
    assert not sky.searches


async def test_it_is_a_function_alone(tools: Calling) -> None:
    event = await tools.event(pb.ToolInvocation(id="1", name="weather"))
    assert event.HasField("error")
