"""`heddle migrate` against the real service."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Run
from cli.interruptible import COMMAND
from cli.keeping import BROKEN, MIGRATION, SIMPLE, AssistantDatabase, legacy_rows

ROWS = legacy_rows()
BROKEN_ID = next(row["id"] for row in ROWS if row["name"] == BROKEN)
GOOD = len(ROWS) - 1
MANY = 20_000
SECRET = "a-secret-of-at-least-32-characters"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AssistantDatabase]:
    """A service that keeps the legacy rows."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    found = AssistantDatabase(tmp_path)
    found.add(ROWS)
    with found.served() as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        yield found


def test_all_are_migrated_once_and_can_be_taken_back(kept: AssistantDatabase, heddle: Run) -> None:
    before = kept.documents()

    dry = heddle("migrate", "--dry-run")
    assert kept.documents() == before
    first = heddle("migrate", "--all")
    migrated = kept.documents()
    second = heddle("migrate", "--all")
    assert kept.documents() == migrated
    back = heddle("migrate", "--rollback")

    assert kept.documents() == before
    summaries = [out.splitlines()[-1] for _, out, _ in (dry, first, second, back)]
    total = len(ROWS)
    assert summaries == [
        f"assistants: {total} ({GOOD} to be migrated, 0 unchanged, 1 refused)",
        f"assistants: {total} ({GOOD} migrated, 0 unchanged, 1 refused)",
        f"assistants: {total} (0 migrated, {GOOD} unchanged, 1 refused)",
        f"assistants: {total} ({GOOD} restored, 1 unchanged, 0 refused)",
    ]
    assert [code for code, _, _ in (dry, first, second, back)] == [1, 1, 1, 0]
    [refused] = [line for line in first[1].splitlines() if line.startswith("refused  ")]
    assert refused.startswith(f"refused  assistants {BROKEN_ID}  {BROKEN}: ")
    assert "is not JSON" in refused
    assert dry[1].splitlines()[:-1] == first[1].splitlines()[:-1]
    assert "look at  assistants" in first[1]


def test_some_are_migrated_and_taken_back(kept: AssistantDatabase, heddle: Run) -> None:
    before = kept.documents()

    assert heddle("migrate", "1", "2", "--dry-run")[:2] == (
        0,
        "assistants: 2 (2 to be migrated, 0 unchanged, 0 refused)\n",
    )
    assert heddle("migrate", "1", "2")[0] == 0
    changed = {key for key, text in kept.documents().items() if text != before[key]}
    assert heddle("migrate", "--rollback", "1", "99999")[0] == 1
    left = {key for key, text in kept.documents().items() if text != before[key]}

    assert (changed, left) == ({1, 2}, {2})


def test_an_edit_is_only_given_up_when_that_is_said(kept: AssistantDatabase, heddle: Run) -> None:
    before = kept.documents()
    heddle("migrate", "1")
    edited = json.dumps({"_format_version": 2, "tools": [], "llm": "mine"})
    kept.edit(1, edited)

    code, out, _ = heddle("migrate", "--rollback")
    assert code == 1
    assert "refused  assistants 1  01_no_rag: The assistant '1' was edited" in out
    assert kept.documents()[1] == edited

    assert heddle("migrate", "--rollback", "--discard-edits")[0] == 0
    assert kept.documents() == before


@pytest.mark.usefixtures("kept")
def test_programs_read_the_report_line_by_line(heddle: Run) -> None:
    code, out, _ = heddle("migrate", "--all", "--json")

    *findings, counts = map(json.loads, out.splitlines())
    assert code == 1
    assert counts == {
        "kind": "counts",
        "table": "assistants",
        "dry_run": False,
        "total": len(ROWS),
        "changed": GOOD,
        "unchanged": 0,
        "refused": 1,
    }
    [refused] = [found for found in findings if found["error"]]
    assert (refused["id"], refused["name"]) == (str(BROKEN_ID), BROKEN)
    assert refused["error"]["reason"] == "MALFORMED_ASSISTANT"
    assert all(found["notes"] for found in findings if not found["error"])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--json",),
        ("--dry-run", "--all"),
        ("--all", "--rollback"),
        ("--dry-run", "--rollback"),
        ("--all", "1"),
        ("--all", "--discard-edits"),
        ("--dry-run", "--discard-edits"),
        tuple(map(str, range(1001))),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_what_is_not_said_clearly_is_not_done(heddle: Run, arguments: tuple[str, ...]) -> None:
    code, out, notes = heddle("migrate", *arguments)

    assert (code, out) == (2, "")
    assert "Usage: heddle migrate" in notes


def test_the_operator_may_migrate_where_calls_are_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heddle: Run
) -> None:
    kept = AssistantDatabase(tmp_path)
    kept.add(ROWS[:1])
    with kept.served(HEDDLE_IDENTITY_SECRET=SECRET) as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
        assert heddle("migrate", "--all")[0] == 1
        monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
        assert heddle("migrate", "--all") == (
            0,
            "assistants: 1 (1 migrated, 0 unchanged, 0 refused)\n",
            "",
        )


@pytest.fixture
def many(tmp_path: Path) -> AssistantDatabase:
    """So many assistants that one can do something while they are migrated."""
    found = AssistantDatabase(tmp_path)
    odd = SIMPLE.replace("no_rag", "owi_rag")  # of which something is told
    texts = [odd, *[SIMPLE] * (MANY - 1)]
    found.add({"id": n, "name": str(n), "metadata": text} for n, text in enumerate(texts, start=1))
    return found


def begun(address: str) -> "subprocess.Popen[str]":
    """Start a migration of all and wait until some are migrated."""
    environment = os.environ | {"HEDDLE_MIGRATION_ADDRESS": address, "PYTHONUNBUFFERED": "1"}
    environment.pop("HEDDLE_IDENTITY_SECRET", None)
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, "migrate", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout
    assert process.stdout.readline().startswith("look at  assistants 1 ")
    return process


def migrated(kept: AssistantDatabase) -> int:
    """Return how many are of the new format; the others are as they were."""
    texts = kept.documents().values()
    new = sum('"_format_version": 2' in (text or "") for text in texts)
    assert sum("_format_version" not in (text or "") for text in texts) == MANY - new
    return new


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_an_interrupt_keeps_what_was_done_and_says_how_to_go_on(
    many: AssistantDatabase, heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with many.served() as address:
        with begun(address) as process:
            process.send_signal(signal.SIGINT)
            out, notes = process.communicate(timeout=60)
        done = migrated(many)
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        code, again, _ = heddle("migrate", "--all")

    assert (process.returncode, out) == (130, "")
    assert notes.startswith("heddle: Stopped. Done: ")
    assert notes.endswith(f"of {MANY} assistants. Run it again; it goes on with the rest.\n")
    told = int(notes.split()[3])
    assert 0 < told <= done < MANY
    assert code == 0
    assert again.splitlines()[-1].endswith(" 0 refused)")
    assert migrated(many) == MANY


@pytest.mark.exhaustive
def test_a_service_that_dies_is_told_in_a_sentence_and_a_second_run_finishes(
    many: AssistantDatabase, heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with many.process() as service:
        address = f"127.0.0.1:{service.ports[MIGRATION]}"
        with begun(address) as process:
            service.kill(MIGRATION)
            out, notes = process.communicate(timeout=60)
    done = migrated(many)
    with many.served() as again:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", again)
        code, *_ = heddle("migrate", "--all")

    assert (process.returncode, out) == (1, "")
    sentence, where_to_read = notes.splitlines()
    assert sentence.startswith(f"heddle: Nothing answers at {address}.")
    assert sentence.endswith("Run it again; it goes on with the rest.")
    assert where_to_read == "See `heddle explain upstream-unavailable`"
    assert 0 < done < MANY
    assert code == 0
    assert migrated(many) == MANY
