"""A rubric's content, and the two forms in which a model reads it."""

import json
from collections.abc import Iterable

from pydantic import AliasChoices, BaseModel, ConfigDict, Field


class Level(BaseModel):
    """How well a criterion can be met, and what that is worth."""

    model_config = ConfigDict(allow_inf_nan=False)

    # Rubrics of an older shape say `points` and `name`.
    score: float = Field(default=0, validation_alias=AliasChoices("score", "points"))
    label: str = Field(default="", validation_alias=AliasChoices("label", "name"))
    description: str = ""


class Criterion(BaseModel):
    """One thing that is assessed."""

    model_config = ConfigDict(allow_inf_nan=False)

    name: str
    description: str = ""
    weight: float = Field(default=0, ge=0)
    levels: list[Level] = Field(min_length=1)


class RubricData(BaseModel):
    """What the Markdown form shows of a rubric's content."""

    model_config = ConfigDict(allow_inf_nan=False)

    title: str = "Unknown"
    description: str = ""
    criteria: list[Criterion] = Field(min_length=1)
    scoring_type: str = Field(default="points", alias="scoringType")
    max_score: float = Field(default=10, gt=0, alias="maxScore")


def evaluation_json(rubric: RubricData, content: object) -> str:
    """Return the rubric's own `content` with instructions for the assessment, as indented JSON."""
    instructions = {
        "steps": [text for _, text in _STEPS],
        "formula": _formula(rubric),
        "max_score": rubric.max_score,
        "expected_output": _EXPECTED,
    }
    both = {"evaluation_instructions": instructions, "rubric": content}
    # A rubric that was written as YAML can hold dates.
    return json.dumps(both, indent=2, ensure_ascii=False, default=str)


def evaluation_markdown(rubric: RubricData) -> str:
    """Return the rubric with instructions for the assessment, as Markdown."""
    lines = [f"# EVALUATION RUBRIC: {_line(rubric.title)}", ""]
    if rubric.description:
        lines += [_line(rubric.description), ""]
    lines += ["## SCORING INSTRUCTIONS", ""]
    for number, (title, text) in enumerate(_STEPS, 1):
        lines += [f"**Step {number}: {title}.** {text}", ""]
    lines += [
        f"`{_formula(rubric)}`",
        "",
        f"Scoring type: {_line(rubric.scoring_type)}. Maximum score: {rubric.max_score:g}.",
        "",
        "## CRITERIA OVERVIEW",
        "",
        *_table(
            ("Criterion", "Weight", "Description"),
            ((c.name, f"{c.weight:g}%", c.description) for c in rubric.criteria),
        ),
        "",
        "## PERFORMANCE LEVELS BY CRITERION",
        "",
    ]
    for criterion in rubric.criteria:
        rows = ((f"{level.score:g}", level.label, level.description) for level in criterion.levels)
        lines += [f"### {_line(criterion.name)} ({criterion.weight:g}%)", ""]
        lines += [*_table(("Score", "Level", "Description"), rows), ""]
    lines += ["## EXPECTED OUTPUT FORMAT", "", *(f"- {item}" for item in _EXPECTED)]
    return "\n".join(lines)


_TIMES = "\N{MULTIPLICATION SIGN}"
_STEPS = (
    ("Choose a level", "For each criterion, choose the level whose description fits best."),
    ("Weigh", "Multiply the score of each chosen level by the weight of its criterion."),
    ("Add up", "Add the weighted scores and bring them to the scale of the maximum score:"),
)
_EXPECTED = (
    "For each criterion: the chosen level, its score, and the evidence in the work",
    "The calculation of the final score, step by step",
    "The final score out of the maximum score",
    "What is done well, and what to improve next",
)


def _formula(rubric: RubricData) -> str:
    highest = max(level.score for criterion in rubric.criteria for level in criterion.levels)
    scaled = f" {_TIMES} {rubric.max_score / highest:.2f}" if highest > 0 else ""
    return f"Final Score = Σ (level_score {_TIMES} weight% / 100){scaled}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    """Return `text` as one cell: what would end the cell or the row is escaped."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|")
    return "<br>".join(line.strip() for line in escaped.splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())
