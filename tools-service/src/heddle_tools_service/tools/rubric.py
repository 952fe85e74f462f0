"""Puts an assessment rubric into the prompt."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from heddle_tools_service.capabilities.rubrics import Rubric, Rubrics
from heddle_tools_service.sdk import (
    Input,
    NoArguments,
    Source,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.rubric_forms import RubricData, evaluation_json, evaluation_markdown

_MAX_LISTED = 3


class RubricConfig(ToolConfig):
    """The rubric to use, and the form in which the model receives it."""

    rubric_id: Annotated[str | int, Input("rubric")] = Field(
        title="Rubric",
        description="The rubric that assesses the work",
        examples=["550e8400-e29b-41d4-a716-446655440000"],
    )
    format: Literal["markdown", "json"] = Field(
        title="Format", default="markdown", description="Output format for the rubric"
    )


@tool(
    "rubric",
    title="Assessment Rubric",
    label="Rubric",
    slot="rubric",
    category="rubric",
    modes=("augment", "function"),
)
async def rubric(call: ToolCall[RubricConfig, NoArguments], rubrics: Rubrics) -> ToolResult:
    """Injects a rubric for assessment-based responses."""
    rubric_id = str(call.config.rubric_id or "").strip()
    if not rubric_id:
        raise ToolError("No rubric_id configured")
    call.status(f"generating rubric {rubric_id}")
    rubric_ = await _load(rubrics, rubric_id)
    if rubric_ is None:
        raise ToolError(f"Rubric {rubric_id} not found or not accessible")
    data, content = _checked(_content(rubric_))
    written = evaluation_json if call.config.format == "json" else evaluation_markdown
    text = written(content)
    attributes = {"rubric_id": rubric_id, "format": call.config.format}
    source = Source(rubric_.title or data.title, kind="rubric", attributes=attributes)
    return ToolResult(text, [source])


async def _load(rubrics: Rubrics, rubric_id: str) -> Rubric | None:
    try:
        return await rubrics.get(rubric_id)
    except ToolError as error:
        raise type(error)(f"Failed to load rubric: {error}") from error
    except Exception as error:
        # Whatever keeps the rubrics may say anything; only the log may repeat it.
        raise ToolError("Failed to load rubric: the rubrics cannot be read") from error


def _content(rubric_: Rubric) -> object:
    if not isinstance(rubric_.data, str):
        return rubric_.data
    try:
        return json.loads(rubric_.data)
    except (ValueError, RecursionError) as error:
        raise ToolError("Failed to load rubric: its content is not JSON") from error


def _checked(content: object) -> tuple[RubricData, Mapping[str, Any]]:
    try:
        data = RubricData.model_validate(content)
    except ValidationError as error:
        places = [".".join(map(str, item["loc"])) or "the content" for item in error.errors()]
        wrong = ", ".join(places[:_MAX_LISTED])
        raise ToolError(f"Failed to load rubric: wrong or missing: {wrong}") from error
    return data, cast("Mapping[str, Any]", content)
