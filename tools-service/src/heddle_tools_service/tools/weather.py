"""Tells models the current weather of a city."""

from pydantic import Field

from heddle_tools_service.capabilities.weather import Weather
from heddle_tools_service.sdk import (
    NoOptions,
    Source,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.marking import marked


class WeatherArguments(ToolArguments):
    """The arguments of the function."""

    city: str = Field(
        min_length=1,
        max_length=200,
        description="The name of the city to get the weather for, with its region or country where "
        "several have the name: 'Paris', 'New York', 'Berlin, Ohio'",
        examples=["Paris"],
    )


@tool(
    "weather",
    title="Weather",
    function="get_weather",
    slot="weather",
    category="utilities",
    modes=("function",),
)
async def weather(call: ToolCall[NoOptions, WeatherArguments], service: Weather) -> ToolResult:
    """Get current temperature for a city, in degrees Celsius."""
    city = call.arguments.city.strip()
    call.status(f"looking up the weather of {city}")
    with marked(city=city):
        now = await service.now(city)
        if now is None:
            raise ToolError(
                f"No city is named {city!r}. Give its name alone, or after a comma the full name "
                "of its region or country, or the two-letter code of its country.",
                kind="unknown_city",
            )
    answer = {
        "city": now.place,
        "temperature_celsius": now.celsius,
        "conditions": now.conditions,
        "success": True,
    }
    return ToolResult.json(answer, sources=[Source(now.attribution, now.address, kind="weather")])
