"""The tool that tells the date and the week of the term."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.example_heddle import example
from integration.whole import write_assistant

TOOL = "plugins/term_week.py"


def with_term(folder: Path, identifier: str, days: str) -> None:
    write_assistant(
        folder,
        identifier,
        "model: {connector: bypass, model: simple-bypass}\n"
        "prompt_template: '{term_week}'\n"
        f"tools: [{{type: term_week, config: {{terms: {{summer term: '{days}'}}}}}}]\n",
    )


async def test_it_counts_weeks_within_a_term_and_says_when_there_is_none(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    last = today + timedelta(days=30)
    with_term(tmp_path, "now", f"{today - timedelta(days=15)}/{last}")
    with_term(tmp_path, "later", f"{last}/{last + timedelta(days=9)}")
    with_term(tmp_path, "wrong", "in May")
    async with example(tmp_path, TOOL) as heddle:
        now = await heddle.plain("now", "?")
        later = await heddle.plain("later", "?")
        wrong = await heddle.plain("wrong", "?")

    days = {f"Today is {each:%A %Y-%m-%d}" for each in (today, datetime.now(UTC).date())}
    weeks = {f"{each}, week 3 of the summer term, which ends on {last}." for each in days}
    assert now.text.strip() in weeks
    assert later.text.strip() in {f"{each}, outside of the terms." for each in days}
    assert "The days of the summer term are not like 2026-09-14/2027-01-29." in wrong.text
