"""`rubric`: who may read one, and what the model gets to read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from heddle_runtime.errors import HeddleError, InvalidRequestError, ToolFailedError
from heddle_tools_service.capabilities.rubrics import Rubrics
from heddle_tools_service.sdk import ToolError
from heddle_tools_service.testing import run_tool
from heddle_tools_service.tools.rubric import rubric
from heddle_tools_service.tools.rubric_forms import evaluation_markdown
from tools_service.serving import discovering, said, serving, text_of

GOLDEN = Path(__file__).parents[1] / "golden" / "rubrics"
ID = "550e8400-e29b-41d4-a716-446655440000"
ESSAY: dict[str, Any] = {
    "rubricId": ID,
    "title": "Essay",
    "description": "How an essay\nis assessed.",
    "metadata": {"subject": "History", "createdAt": "2025-01-01"},
    "criteria": [
        {
            "id": "c1",
            "name": "Argument | thesis",
            "description": "Has a claim.\nDefends it.",
            "weight": 60,
            "levels": [
                {"id": "l1", "score": 4, "label": "Strong", "description": "Clear \\ | sharp"},
                {"id": "l2", "score": 1, "label": "Weak", "description": ""},
            ],
        },
        {
            "id": "c2",
            "name": "Sources",
            "description": "Uses sources.",
            "weight": 40,
            "levels": [{"id": "l3", "points": 3, "name": "Older shape", "description": "Three"}],
        },
    ],
    "scoringType": "points",
    "maxScore": 10,
}


def keep(folder: Path, name: str = "essay.yaml", **columns: Any) -> None:
    (folder / "rubrics").mkdir(exist_ok=True)
    record = {"rubric_id": ID, "title": "Essay", "rubric_data": ESSAY, **columns}
    (folder / "rubrics" / name).write_text(yaml.safe_dump(record))


async def run(
    folder: Path, config: dict[str, Any], owner: str = "ana", organization: str = "o1"
) -> Any:
    async with serving(discovering(None), folder=folder) as client:
        context = said("?", owner=owner, organization=organization)
        return await client.run("rubric", config, context)


@pytest.mark.parametrize(("form", "ending"), [("markdown", "md"), ("json", "json")])
async def test_both_forms_are_as_agreed(tmp_path: Path, form: str, ending: str) -> None:
    keep(tmp_path, owner_email="ana", rubric_data=json.dumps(ESSAY))  # as LAMB's column holds it

    statuses, result = await run(tmp_path, {"rubric_id": ID, "format": form})

    assert statuses == [f"generating rubric {ID}"]
    assert result.slot == "rubric"
    golden = GOLDEN / f"essay.{ending}"
    if os.environ.get("HEDDLE_GOLDEN") == "write":
        golden.write_text(text_of(result))
    assert text_of(result) == golden.read_text()
    [source] = result.sources
    assert (source.kind, source.title) == ("rubric", "Essay")
    assert dict(source.attributes) == {"rubric_id": ID, "format": form}


async def test_the_formula_scales_to_the_maximum_score() -> None:
    written = evaluation_markdown(ESSAY)

    assert "Final Score = Σ (level_score \N{MULTIPLICATION SIGN} weight% / 100)" in written
    assert "weight% / 100) \N{MULTIPLICATION SIGN} 2.50\n" in written  # 10 / 4


async def test_numbers_are_written_as_the_rubric_has_them() -> None:
    levels = [{"score": 2.0, "label": "Good"}, {"score": 4, "label": "Best"}]
    rubric_ = {"criteria": [{"name": "A", "weight": 100.0, "levels": levels}], "maxScore": 10.0}

    written = evaluation_markdown(rubric_)

    assert "- **4** = Best\n- **2.0** = Good\n" in written
    assert "| A | 100.0% |  |" in written
    assert "Where 2.50 = maxScore (10.0) \N{DIVISION SIGN} max_level_score (4)\n" in written
    assert written.endswith("strengths and areas for improvement.\n")


@pytest.mark.parametrize(
    ("columns", "readable"),
    [
        ({"owner_email": "ana", "organization": "o9"}, True),
        ({"owner_email": "bob", "organization": "o1", "is_public": True}, True),
        ({"owner_email": "bob", "organization": "o1"}, False),
        ({"owner_email": "bob", "organization": "o2", "is_public": True}, False),
        ({"organization": "o1"}, False),
    ],
)
async def test_a_rubric_is_for_its_owner_or_public_in_the_organisation(
    tmp_path: Path, columns: dict[str, Any], *, readable: bool
) -> None:
    keep(tmp_path, **columns)
    if readable:
        _, result = await run(tmp_path, {"rubric_id": ID})
        assert text_of(result).startswith("# EVALUATION RUBRIC: Essay")
    else:
        with pytest.raises(ToolFailedError) as caught:
            await run(tmp_path, {"rubric_id": ID})
        assert caught.value.message == f"Rubric {ID} not found or not accessible"


@pytest.mark.parametrize("named", ["", "default"])
@pytest.mark.parametrize("organization", ["", "default"])
async def test_a_file_without_an_organisation_is_of_the_operators(
    tmp_path: Path, named: str, organization: str
) -> None:
    keep(tmp_path, organization=named, is_public=True)

    _, result = await run(tmp_path, {"rubric_id": ID}, "operator", organization)

    assert text_of(result).startswith("# EVALUATION RUBRIC: Essay")


async def test_an_assistant_without_owner_owns_nothing(tmp_path: Path) -> None:
    keep(tmp_path, owner_email="", organization="o1")

    with pytest.raises(ToolFailedError, match="not found or not accessible"):
        await run(tmp_path, {"rubric_id": ID}, owner="")


async def test_a_number_is_an_id_too(tmp_path: Path) -> None:
    keep(tmp_path, rubric_id=42, owner="ana")

    statuses, _ = await run(tmp_path, {"rubric_id": 42})

    assert statuses == ["generating rubric 42"]


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({}, InvalidRequestError),
        ({"rubric_id": ""}, InvalidRequestError),
        ({"rubric_id": 0}, ToolFailedError),
    ],
)
async def test_a_missing_id_is_told(
    tmp_path: Path, config: dict[str, Any], kind: type[HeddleError]
) -> None:
    with pytest.raises(kind, match="No rubric_id configured"):
        await run(tmp_path, config)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{not json", "Failed to load rubric: its content is not JSON"),
        ({"title": "T"}, "Failed to load rubric: wrong or missing: criteria"),
        ({"criteria": [{"name": "A", "levels": []}]}, "wrong or missing: criteria.0.levels"),
        ([], "Failed to load rubric: wrong or missing: the content"),
        ({**ESSAY, "maxScore": float("inf")}, "wrong or missing: maxScore"),
    ],
)
async def test_a_broken_rubric_is_told_without_its_content(
    tmp_path: Path, data: object, message: str
) -> None:
    keep(tmp_path, owner="ana", rubric_data=data)

    with pytest.raises(ToolFailedError, match=message):
        await run(tmp_path, {"rubric_id": ID})


async def test_rubrics_that_cannot_be_read_are_told_without_the_cause(tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "a.yaml").symlink_to("a.yaml")  # a loop: looking at it fails
    keep(tmp_path, "broken.yaml", owner=["not a text"])
    keep(tmp_path, "good.yaml", owner="ana")

    _, result = await run(tmp_path, {"rubric_id": ID})

    assert text_of(result)


class FailingRubrics:
    """A store of rubrics whose database is away."""

    async def get(self, _: str) -> None:
        raise RuntimeError("postgresql://user:pw@host")


async def test_a_failure_of_the_store_of_rubrics_is_reported_without_its_secrets() -> None:
    with pytest.raises(ToolError) as caught:
        await run_tool(rubric, {"rubric_id": ID}, capabilities={Rubrics: FailingRubrics()})

    assert str(caught.value) == "Failed to load rubric: the rubrics cannot be read"


async def test_a_changed_rubric_counts_at_once(tmp_path: Path) -> None:
    keep(tmp_path, owner="ana")
    await run(tmp_path, {"rubric_id": ID})
    keep(tmp_path, owner="ana", rubric_data={**ESSAY, "title": "Essay, second edition"})

    _, result = await run(tmp_path, {"rubric_id": ID})

    assert "second edition" in text_of(result)
