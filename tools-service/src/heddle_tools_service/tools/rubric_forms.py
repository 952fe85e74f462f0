"""A rubric's content, and the two forms in which a model reads it.

The forms never change by a byte: another wording, or another way to write a number, can move the
grades of an imported assistant. So values appear as the content has them, and nothing
is escaped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

_TIMES = "\N{MULTIPLICATION SIGN}"
_DIVIDED = "\N{DIVISION SIGN}"
_RULE = ("---", "")
_UNKNOWN_HIGHEST = 4
Content = Mapping[str, Any]


class Level(BaseModel):
    """A level at which a criterion can be met, and its score."""

    model_config = ConfigDict(allow_inf_nan=False)

    # Rubrics of an older shape say `points` and `name`.
    score: float = Field(default=0, strict=True, validation_alias=AliasChoices("score", "points"))
    label: str = Field(default="", validation_alias=AliasChoices("label", "name"))
    description: str = ""


class Criterion(BaseModel):
    """A criterion of the assessment, with its levels."""

    model_config = ConfigDict(allow_inf_nan=False)

    name: str
    description: str = ""
    weight: float = Field(default=0, ge=0, strict=True)
    levels: list[Level] = Field(min_length=1)


class RubricData(BaseModel):
    """The content of a rubric that the forms show. It is checked: numbers are no texts."""

    model_config = ConfigDict(allow_inf_nan=False)

    title: str = "Unknown"
    description: str = ""
    criteria: list[Criterion] = Field(min_length=1)
    scoring_type: str = Field(default="points", alias="scoringType")
    max_score: float = Field(default=10, gt=0, strict=True, alias="maxScore")


@dataclass(frozen=True, slots=True)
class _Scale:
    maximum: Any
    """As the content has it."""
    highest: Any
    """The highest score of a level of the first criterion."""
    factor: float


def evaluation_json(content: Content) -> str:
    """Return the rubric's own `content` with instructions for the assessment, as indented JSON."""
    scale = _scale(content)
    instructions = {
        "purpose": "Use this rubric to evaluate student work. For each criterion, select the "
        "performance level that best matches the student's work based on the level descriptions.",
        "scoring_system": _scoring_system(content, scale),
        "expected_output": {
            "format": "structured evaluation",
            "required_sections": [
                {"name": name, "description": description} for name, description in _sections(scale)
            ],
        },
    }
    both = {"evaluation_instructions": instructions, "rubric": content}
    # A rubric that was written as YAML can hold dates.
    return json.dumps(both, indent=2, ensure_ascii=False, default=str)


def evaluation_markdown(content: Content) -> str:
    """Return the rubric with instructions for the assessment, as Markdown."""
    scale = _scale(content)
    parts = (_head(content), _instructions(content, scale), _overview(content), _levels(content))
    lines = [line for part in parts for line in (*part, *_RULE)]
    return "\n".join([*lines, *_expected(content, scale)])


def _scale(content: Content) -> _Scale:
    maximum = content.get("maxScore", 10)
    scores = [_score(level) for level in _criteria(content)[0]["levels"]]
    highest = max(scores, default=_UNKNOWN_HIGHEST)
    return _Scale(maximum, highest, maximum / highest if highest > 0 else 1)


def _head(content: Content) -> Iterator[str]:
    yield from (f"# EVALUATION RUBRIC: {content.get('title', 'Untitled Rubric')}", "")
    if description := content.get("description", ""):
        yield from (f"**Purpose:** {description}", "")
    metadata = content.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    names = {"subject": "Subject", "gradeLevel": "Grade Level"}
    context = [f"{title}: {known[name]}" for name, title in names.items() if known.get(name)]
    if context:
        yield from (" | ".join(context), "")


def _instructions(content: Content, scale: _Scale) -> Iterator[str]:
    factor = f"{scale.factor:.2f}"
    yield from ("## SCORING INSTRUCTIONS", "")
    yield from ("You are evaluating student work using this rubric. Follow these steps:", "")
    yield from ("### Step 1: Evaluate Each Criterion", "")
    yield "For each criterion below, read the student work and select the performance level"
    yield from ("that best describes it. Each level has a **score value** (higher = better):", "")
    yield from (f"- **{score}** = {label}" for score, label in _meanings(content))
    yield from ("", "### Step 2: Apply Weights", "")
    yield "Each criterion has a **weight** expressed as a percentage. All weights sum to 100%."
    yield "The weight indicates the relative importance of each criterion in the final score."
    yield from ("", "### Step 3: Calculate Final Score", "", "Use this formula:", "", "```")
    yield f"Final Score = Σ (level_score {_TIMES} weight% / 100) {_TIMES} {factor}"
    yield from ("```", "")
    yield (
        f"Where {factor} = maxScore ({scale.maximum}) {_DIVIDED} max_level_score ({scale.highest})"
    )
    scoring_type = content.get("scoringType", "points")
    yield from ("", f"**Maximum possible score: {scale.maximum}** (Scoring type: {scoring_type})")
    yield ""


def _overview(content: Content) -> Iterator[str]:
    yield from ("## CRITERIA OVERVIEW", "")
    yield "| Criterion | Weight (%) | What it Evaluates |"
    yield "|-----------|------------|-------------------|"
    for each in _criteria(content):
        yield f"| {each['name']} | {each.get('weight', 0)}% | {each.get('description', '')} |"
    yield ""


def _levels(content: Content) -> Iterator[str]:
    yield from ("## PERFORMANCE LEVELS BY CRITERION", "")
    for number, each in enumerate(_criteria(content), 1):
        yield f"### {number}. {each['name']}"
        yield f"**Weight: {each.get('weight', 0)}%** — {each.get('description', '')}"
        yield from ("", "| Score | Level | Description |", "|-------|-------|-------------|")
        for level in sorted(each["levels"], key=_score, reverse=True):
            yield f"| {_score(level)} | {_label(level)} | {level.get('description', '')} |"
        yield ""


def _expected(content: Content, scale: _Scale) -> Iterator[str]:
    yield from ("## EXPECTED OUTPUT FORMAT", "", "Structure your evaluation as follows:", "")
    yield from ("### Criterion Evaluations", "For each criterion, provide:")
    yield f"- **[Criterion Name]**: [Selected Level Label] (Score: X/{scale.highest})"
    yield (
        "- **Justification**: Brief explanation referencing specific aspects of the student work"
    )
    yield from ("", "### Score Calculation", "Show your calculation:", "```")
    for each in _criteria(content):
        weight = f"{each.get('weight', 0) / 100:.2f}"
        factor = f"{scale.factor:.2f}"
        yield f"- {each['name']}: [score] {_TIMES} {weight} {_TIMES} {factor} = [points]"
    yield from (f"- TOTAL: [sum] / {scale.maximum}", "```", "", "### Overall Feedback")
    yield "Provide constructive feedback highlighting strengths and areas for improvement."
    yield ""


def _scoring_system(content: Content, scale: _Scale) -> dict[str, Any]:
    factor = f"{scale.factor:.2f}"
    return {
        "level_scores": {str(score): label for score, label in _meanings(content)},
        "level_score_meaning": "Each performance level has a score value from 1 (lowest) to "
        f"{scale.highest} (highest). Assign the score of the level that best matches the student "
        "work.",
        "weights": {
            "meaning": "Each criterion has a weight expressed as a percentage. Weights indicate "
            "relative importance and sum to 100%.",
            "sum_to": 100,
        },
        "formula": {
            "description": "Calculate final score using weighted average scaled to maxScore",
            "formula": f"final_score = Σ(criterion_score {_TIMES} criterion_weight / 100) "
            f"{_TIMES} {factor}",
            "scaling_factor": round(scale.factor, 2),
            "scaling_explanation": f"maxScore ({scale.maximum}) {_DIVIDED} max_level_score "
            f"({scale.highest}) = {factor}",
        },
        "max_score": scale.maximum,
        "scoring_type": content.get("scoringType", "points"),
    }


def _sections(scale: _Scale) -> Iterator[tuple[str, str]]:
    yield (
        "criterion_evaluations",
        "For each criterion: selected level label, score value, and justification",
    )
    yield "score_calculation", "Show the math: each criterion's contribution and the total"
    yield "total_score", f"Final calculated score out of {scale.maximum}"
    yield (
        "overall_feedback",
        "Constructive feedback highlighting strengths and areas for improvement",
    )


def _meanings(content: Content) -> Iterator[tuple[Any, str]]:
    for level in sorted(_criteria(content)[0]["levels"], key=_score, reverse=True):
        yield _score(level), _label(level, f"Level {_score(level)}")


def _criteria(content: Content) -> Sequence[Content]:
    criteria: Sequence[Content] = content["criteria"]
    return criteria


def _score(level: Content) -> Any:  # noqa: ANN401 - a number as the content has it
    return level.get("score", level.get("points", 0))


def _label(level: Content, default: str = "") -> str:
    return str(level.get("label", level.get("name", default)))
