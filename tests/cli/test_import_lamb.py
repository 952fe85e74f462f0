"""`heddle import-lamb` against the real service."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from assistants.serving import SECRET
from cli.conftest import Run
from cli.keeping import AssistantDatabase
from migration.knowledge.importing import importing, registered, shelved
from migration.knowledge.lamb_kb_server import TOKEN, lamb_kb_server
from migration.lamb.lamb_database import METERED, Lamb, filled, legacy_rows
from structlog.testing import capture_logs

ASSISTANTS = len(list(legacy_rows())) + 4


@pytest.fixture
def lamb(tmp_path: Path) -> Lamb:
    return filled(tmp_path / "lamb_v4.db")


@pytest.fixture
def kept(
    lamb: Lamb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AssistantDatabase]:
    """A service beside a LAMB database."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    found = AssistantDatabase(tmp_path)
    with found.served(lamb_database=lamb.path) as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        yield found


def lines(changed: str, *, again: bool = False) -> list[str]:
    counts = {
        "organizations": 2,
        "Creator_users": 4,
        "assistants": ASSISTANTS,
        "rubrics": 1,
        "kb_registry": 1,
        "assistant_usage_totals": 0,
    }
    imported = [
        f"{table}: {count} ({0 if again else count} {changed}, {count if again else 0} unchanged, "
        "0 refused)"
        for table, count in counts.items()
    ]
    # Two of the published assistants have no link of a learning platform.
    links = "0 imported, 3" if again else f"1 {changed}, 2"
    return [*imported, f"assistant_publish: 3 ({links} unchanged, 0 refused)"]


def test_a_lamb_database_is_imported_once(kept: AssistantDatabase, heddle: Run) -> None:
    dry = heddle("import-lamb", "--dry-run")
    assert kept.documents() == {}
    first = heddle("import-lamb")
    imported = kept.documents()
    second = heddle("import-lamb")

    for code, out, changed in ((*dry[:2], "to be imported"), (*first[:2], "imported")):
        findings = out.splitlines()[:-7]
        assert (code, out.splitlines()[len(findings) :]) == (0, lines(changed))
        assert all(line.startswith("look at  assistants ") for line in findings)
    assert (second[0], second[1].splitlines()) == (0, lines("imported", again=True))
    assert len(imported) == ASSISTANTS
    # Meanwhile, the service may empty the two that were deleted long ago.
    contents = {number: text for number, text in kept.documents().items() if text is not None}
    assert contents.items() <= imported.items()
    assert len(contents) >= ASSISTANTS - 2


@pytest.mark.usefixtures("kept")
def test_what_is_odd_is_told_with_its_table(lamb: Lamb, heddle: Run) -> None:
    lamb.add("assistants", {"id": 900, "name": "lost", "organization_id": 99})
    lamb.add("rubrics", {"id": 901, "rubric_id": "", "rubric_data": "{}"})

    code, out, _ = heddle("import-lamb")

    assert code == 1
    assert "look at  assistants 900  lost: Its organisation 99 is not there" in out
    assert "refused  rubrics 901  Essay: It has no rubric_id" in out

    *findings, _, _, assistants, _, _, _, _ = map(
        json.loads, heddle("import-lamb", "--json")[1].splitlines()
    )
    assert [found["id"] for found in findings] == ["901"]
    assert (assistants["table"], assistants["changed"]) == ("assistants", 0)


def test_a_report_names_what_will_not_work_and_what_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heddle: Run
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make(METERED)
    lamb.add("organizations", {"id": 1, "slug": "uni"})
    lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
    search = json.dumps({"rag_processor": "simple_rag"})
    lamb.add(
        "assistants",
        {"id": 7, "name": "1_*star*", "api_callback": search, "RAG_collections": "17"},
        {"id": 8, "name": "1_no", "api_callback": "not-json{"},
    )
    lamb.add("kb_registry", {"kb_id": "1", "kb_name": "Optics"})
    lamb.add("audit_log", {"action": "a"})
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    with AssistantDatabase(tmp_path).served(lamb_database=lamb.path) as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        for name in ("report.json", "report.md"):
            code, out, _ = heddle("import-lamb", "--dry-run", "--report", str(tmp_path / name))
            assert (code, "audit_log: 1 row stays in LAMB" in out) == (0, True)

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["dry_run"] is True
    assert report["tables"][2] == {
        "table": "assistants",
        "total": 2,
        "imported": 2,
        "unchanged": 0,
        "refused": 0,
    }
    [incomplete] = report["may_lack_a_part"]
    assert (incomplete["id"], incomplete["name"]) == ("7", "1_*star*")
    assert [each["table"] for each in report["left_in_lamb"]] == ["audit_log"]
    page = (tmp_path / "report.md").read_text()
    assert page.startswith("# Import from LAMB (dry run: nothing was written)\n")
    assert "| assistants | 2 | 2 | 0 | 0 |" in page
    assert "- 7 1\\_\\*star\\*: It may answer without a part: LAMB has no collection '17'." in page
    assert "| audit\\_log | 1 |" in page


def test_a_service_without_a_lamb_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heddle: Run
) -> None:
    with AssistantDatabase(tmp_path).served() as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        code, out, notes = heddle("import-lamb")

    assert (code, out) == (1, "")
    assert len(notes.splitlines()) == 1
    assert "HEDDLE_MIGRATION_LAMB_DATABASE" in notes


def test_knowledge_is_copied_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heddle: Run
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    with imports(tmp_path, lamb) as address:
        monkeypatch.setenv("HEDDLE_MIGRATION_ADDRESS", address)
        dry = heddle("import-lamb", "--knowledge", "--dry-run")
        first = heddle("import-lamb", "--knowledge", "--report", str(tmp_path / "report.json"))
        page = heddle("import-lamb", "--knowledge", "--report", str(tmp_path / "report.md"))
        plain = heddle("import-lamb")
        lost = heddle("import-lamb", "--language", "es")

    assert "kb_files: 5 (5 to be imported, 0 unchanged, 0 refused)" in dry[1]
    assert first[0] == 1  # the owner of one is no user
    assert "kb_collections: 3 (2 imported, 0 unchanged, 1 refused)" in first[1]
    assert "kb_files: 5 (5 imported, 0 unchanged, 0 refused)" in first[1]
    report = json.loads((tmp_path / "report.json").read_text())
    [refused] = [each for each in report["refused"] if each["table"] == "kb_collections"]
    assert (refused["id"], "'999'" in refused["refusal"]) == ("9", True)
    files = [each["id"] for each in report["to_look_at"] if each["table"] == "kb_files"]
    assert files == ["17/3", "17/4"]
    left = {"table": "kb_files", "rows": 1, "meaning": "Files that LAMB could not read."}
    assert left in report["left_in_lamb"]
    assert "kb_files: 5 (0 imported, 5 unchanged, 0 refused)" in page[1]
    assert "| kb\\_files | 5 | 0 | 5 | 0 |" in (tmp_path / "report.md").read_text()
    assert "kb_" not in plain[1].replace("kb_registry", "")
    assert (lost[0], "--knowledge" in lost[2]) == (1, True)


@contextmanager
def imports(folder: Path, lamb: Lamb) -> Iterator[str]:
    """Serve everything that an import of knowledge needs, and yield the address."""
    ready, stop = threading.Event(), asyncio.Event()
    addresses: list[str] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with lamb_kb_server() as kb:
            shelved(kb)
            async with importing(folder, registered(lamb), kb.url, TOKEN) as services:
                addresses.append(services.address)
                ready.set()
                await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    with capture_logs():  # they would mix with what the command prints
        thread.start()
        try:
            assert ready.wait(30)
            yield addresses[0]
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(30)
