"""What the others notice of an organisation that sends hostile documents and many chats."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.fairness.__main__ import run

pytestmark = [pytest.mark.exhaustive, pytest.mark.alone]


@pytest.mark.parametrize("organisations", [1, 50])
async def test_an_organisation_that_overloads_heddle_delays_the_others_little(
    tmp_path: Path, organisations: int
) -> None:
    """The times of all organisations stay within twice, or 100 ms more than, those without load."""
    options = Namespace(
        documents=1_000, chats=200, organisations=organisations, rounds=50, concurrent=0
    )
    assert await run(options, tmp_path), "run `python -m benchmarks.fairness` for the table"
