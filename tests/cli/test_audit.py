"""`heddle audit`, with the real service."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli import keeping
from cli.conftest import Run


@pytest.fixture
def database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[keeping.AssistantDatabase]:
    """The database of a service in which an organisation was changed three times."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    store = keeping.AssistantDatabase(tmp_path)
    store.add([{"id": 1, "name": "a", "metadata": keeping.SIMPLE}])
    with store.served() as address:
        monkeypatch.setenv("HEDDLE_ASSISTANTS_ADDRESS", address)
        yield store


def create_keys(heddle: Run, *names: str) -> None:
    """Create API keys."""
    for name in names:
        code, _, notes = heddle("keys", "create", "--name", name, "--organization", "uni")
        assert code == 0, notes


@pytest.mark.usefixtures("database")
def test_events_are_a_table_or_a_document(heddle: Run) -> None:
    assert heddle("audit", "list") == (0, "", "There are no such events.\n")
    create_keys(heddle, "one", "two", "three")

    code, out, notes = heddle("audit", "list", "--object", "key", "--limit", "2")

    assert (code, notes) == (0, "")
    head, *rows = out.splitlines()
    assert head.split()[:2] == ["NUMBER", "TIME"]
    assert [row.split()[0] for row in rows] == ["3", "2"]
    assert "key.create" in rows[0]
    assert "name=three" in rows[0]
    code, out, _ = heddle("audit", "list", "--json")
    events = json.loads(out)["events"]
    assert [each["number"] for each in events] == [3, 2, 1]
    only = heddle("audit", "list", "--json", "--object", f"key:{events[1]['object_id']}")[1]
    assert json.loads(only)["events"] == [events[1]]
    day = f"{datetime.fromtimestamp(events[0]['time'], UTC):%Y-%m-%d}"
    for filters in (
        *(("--subject", "x"), ("--organization", "college"), ("--object", "user")),
        ("--until", day),
    ):
        assert heddle("audit", "list", *filters)[2] == "There are no such events.\n"
    since = ("--since", f"{day}T00:00:00", "--organization", "uni")
    assert len(json.loads(heddle("audit", "list", "--json", *since)[1])["events"]) == 3


def test_a_changed_event_fails_the_verification(
    database: keeping.AssistantDatabase, heddle: Run
) -> None:
    assert heddle("audit", "verify") == (0, "0 events: the log is valid.\n", "")
    create_keys(heddle, "one", "two", "three")
    code, out, _ = heddle("audit", "verify")
    valid, newest = out.splitlines()
    assert (code, valid) == (0, "3 events: the log is valid.")
    known = newest.removeprefix("newest ")
    assert heddle("audit", "verify", "--known", known)[0] == 0

    database.execute("UPDATE audit_events SET subject = 'eve' WHERE number = 2")

    code, out, _ = heddle("audit", "verify")
    assert (code, out.splitlines()) == (
        1,
        ["Event 2 is changed or inserted.", "3 events, 1 fault: the log is not valid."],
    )
    later = known.replace("3:", "4:")
    assert "Event 4 is missing." in heddle("audit", "verify", "--known", later)[1]
    assert heddle("audit", "verify", "--known", "x")[0] == 2
