"""`heddle ingest`: what becomes of every file, and what it costs to run it again."""

import contextlib
import os
from pathlib import Path

import pytest
from cli.conftest import Run
from cli.serving import Services
from heddle.knowledge.v1 import knowledge_pb2
from heddle_cli.documents import READABLE
from heddle_knowledge.reading.admission import UNKNOWN, media_type_of
from heddle_runtime.errors import HeddleError, UnavailableError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    (folder / "a.md").write_text("# A")
    (folder / "b.RST").write_text("B\n=")
    (folder / "more" / "c.html").write_text("<p>C")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.md").write_text("no")
    return folder


def test_a_folder_becomes_documents_of_a_new_collection(
    services: Services, heddle: Run, corpus: Path
) -> None:
    code, out, _ = heddle(
        "ingest", str(corpus), "--collection", "kb", "--title", "All", "--recursive"
    )

    assert code == 0
    assert out.splitlines() == [
        "skipped     picture.png: is of no type that can be read",
        "new         a.md: 2 passages",
        "new         b.RST: 2 passages",
        "new         more/c.html: 2 passages",
        "kb: 3 documents (3 new); 1 file skipped",
    ]
    assert services.knowledge.titles == {"kb": "All"}
    assert set(services.knowledge.media_types.values()) == {""}


def test_folders_in_folders_wait_for_the_option(
    services: Services, heddle: Run, corpus: Path
) -> None:
    assert heddle("ingest", str(corpus), "--collection", "kb")[0] == 0

    assert set(services.knowledge.collections["kb"]) == {"a.md", "b.RST"}


def test_a_second_run_tells_what_changed(services: Services, heddle: Run, corpus: Path) -> None:
    heddle("ingest", str(corpus), "--collection", "kb")
    (corpus / "a.md").write_text("# A, again")

    code, out, notes = heddle("ingest", str(corpus), "--collection", "kb", "--title", "Other")

    assert code == 0
    assert out.splitlines()[1:] == [
        "replaced    a.md: 2 passages",
        "unchanged   b.RST: 2 passages",
        "kb: 2 documents (1 replaced, 1 unchanged); 1 file skipped",
    ]
    assert notes.splitlines()[0] == "The collection exists and stays as it is."
    assert services.knowledge.titles == {"kb": ""}


@pytest.mark.usefixtures("services")
def test_an_unreadable_file_is_told_with_its_reason_and_does_not_stop_the_rest(
    heddle: Run, corpus: Path
) -> None:
    (corpus / "a.md").write_text("garbled")
    (corpus / "aa.md").write_text("")

    code, out, _ = heddle("ingest", str(corpus), "--collection", "kb")

    assert code == 1
    assert out.splitlines()[1:] == [
        "unreadable  a.md: The document cannot be read as text.",
        "unreadable  aa.md: is empty",
        "new         b.RST: 2 passages",
        "kb: 3 documents (2 unreadable, 1 new); 1 file skipped",
    ]


@pytest.mark.usefixtures("services")
def test_a_file_that_the_disk_refuses_is_unreadable(heddle: Run, corpus: Path) -> None:
    with (corpus / "large.txt").open("wb") as large:
        large.truncate(31 * 1024 * 1024)

    code, out, _ = heddle("ingest", str(corpus / "large.txt"), "--collection", "kb")

    assert code == 1
    assert "unreadable  large.txt: is larger than 30 MiB" in out


@pytest.mark.usefixtures("services")
def test_a_file_with_a_name_that_is_not_utf_8_does_not_stop_the_rest(
    heddle: Run, corpus: Path
) -> None:
    Path(os.fsdecode(bytes(corpus) + b"/caf\xe9.md")).write_text("# Coffee")

    code, out, _ = heddle("ingest", str(corpus), "--collection", "kb")

    assert code == 1
    assert "unreadable  caf?.md: has a name that is not UTF-8, rename it" in out
    assert "new         b.RST: 2 passages" in out


def test_a_link_does_not_lead_out_of_a_folder(
    services: Services, heddle: Run, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (corpus / "link.txt").symlink_to(tmp_path / "secret.txt")
    (corpus / "up").symlink_to(tmp_path)

    heddle("ingest", str(corpus), "--collection", "kb", "--recursive")

    assert set(services.knowledge.collections["kb"]) == {"a.md", "b.RST", "more/c.html"}


@pytest.mark.usefixtures("services")
def test_a_pipe_in_a_folder_is_not_waited_for(heddle: Run, corpus: Path) -> None:
    os.mkfifo(corpus / "pipe.md")

    code, out, _ = heddle("ingest", str(corpus), "--collection", "kb")

    assert code == 0
    assert "pipe" not in out


@pytest.mark.usefixtures("services")
def test_a_folder_that_cannot_be_read_is_named(heddle: Run, corpus: Path) -> None:
    with contextlib.chdir(corpus):
        for _ in range(20):  # until its path is longer than the system takes
            Path("x" * 250).mkdir()
            os.chdir("x" * 250)

    code, out, notes = heddle("ingest", str(corpus), "--collection", "kb", "--recursive")

    assert (code, out) == (1, "")
    assert notes.startswith(f"heddle: The folder {corpus}/xxx")
    assert "cannot be read: File name too long" in notes


@pytest.mark.usefixtures("services")
def test_two_files_of_one_name_do_not_replace_each_other(heddle: Run, corpus: Path) -> None:
    (corpus / "more" / "a.md").write_text("# Other A")

    code, out, _ = heddle(
        "ingest", str(corpus / "a.md"), str(corpus / "more" / "a.md"), "--collection", "kb"
    )

    assert code == 1
    assert f"failed      a.md: has the same name as {corpus / 'a.md'}" in out


@pytest.mark.parametrize(
    ("failure", "lines"),
    [
        (UnavailableError("The store is closed."), 1),
        (HeddleError("The service failed."), 4),
    ],
)
def test_a_run_ends_early_only_if_the_next_document_would_fail_too(
    services: Services, heddle: Run, corpus: Path, failure: HeddleError, lines: int
) -> None:
    services.knowledge.failure = failure

    code, out, notes = heddle("ingest", str(corpus), "--collection", "kb")

    assert code == 1
    assert len(out.splitlines()) == lines
    assert failure.message in (notes if lines == 1 else out)


def test_nothing_to_ingest_is_a_failure(services: Services, heddle: Run, tmp_path: Path) -> None:
    code, _, notes = heddle("ingest", str(tmp_path), "--collection", "kb")

    assert code == 1
    assert notes == (
        "heddle: There is nothing to ingest. Folders in folders are read with --recursive.\n"
    )
    assert services.knowledge.collections == {}


def test_documents_get_what_belongs_to_them(services: Services, heddle: Run, corpus: Path) -> None:
    code, _, _ = heddle(
        *(
            "ingest",
            str(corpus / "a.md"),
            "--collection",
            "kb",
            "--date",
            "2020-09-13T14:26:40+02:00",
        ),
        *("--metadata", "course=weaving", "--metadata", "note=a=b"),
    )

    assert code == 0
    assert services.knowledge.belongings == [({"course": "weaving", "note": "a=b"}, 1_600_000_000)]


def test_a_day_begins_in_utc(services: Services, heddle: Run, corpus: Path) -> None:
    heddle("ingest", str(corpus / "a.md"), "--collection", "kb", "--date", "2020-09-13")

    assert services.knowledge.belongings == [({}, 1_599_955_200)]


def test_a_new_collection_is_made_as_the_options_say(
    services: Services, heddle: Run, corpus: Path
) -> None:
    heddle(
        *("ingest", str(corpus / "a.md"), "--collection", "kb", "--graph"),
        *(
            "--embedding-model",
            "m",
            "--language",
            "sv",
            "--chunk-characters",
            "900",
            "--page-handling",
            "search",
        ),
    )

    made = services.knowledge.made["kb"]
    assert (made.embedding_model, made.chunking.target_characters) == ("m", 900)
    assert made.language == "sv"
    assert made.graph
    assert made.page_handling == knowledge_pb2.PAGE_HANDLING_SEARCH


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--metadata", "course", "Write key=value"),
        ("--metadata", "=x", "Write key=value"),
        ("--date", "yesterday", "Write it as 2026-03-31"),
        ("--date", "0001-01-01T00:00:00+02:00", "Write it as 2026-03-31"),
        ("--chunk-characters", "99999999999", "less than or equal to"),
        ("--chunk-characters", "-1", "greater than or equal to 0"),
        ("--page-handling", "scan", "scan"),
    ],
)
def test_an_option_that_cannot_be_read_is_told(
    heddle: Run, corpus: Path, option: str, value: str, told: str
) -> None:
    code, _, notes = heddle("ingest", str(corpus), "--collection", "kb", option, value)

    assert code == 2
    assert told in " ".join(notes.replace("│", " ").split())


def test_word_documents_and_tables_are_taken_from_folders(
    services: Services, heddle: Run, corpus: Path
) -> None:
    for name in ("d.docx", "e.csv", "f.tsv"):
        (corpus / name).write_text("x")

    heddle("ingest", str(corpus), "--collection", "kb")

    assert {"d.docx", "e.csv", "f.tsv"} <= set(services.knowledge.media_types)


def test_what_the_service_reads_is_taken_from_folders() -> None:
    assert all(media_type_of(f"a{ending}") != UNKNOWN for ending in READABLE)


def test_several_documents_are_in_flight_and_told_in_their_order(
    services: Services, heddle: Run, tmp_path: Path
) -> None:
    services.knowledge.company = 4  # each ingestion waits until so many are under way
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"note {number}")

    code, out, _ = heddle("ingest", str(folder), "--collection", "kb")

    assert code == 0
    assert out.splitlines()[:-1] == [f"new         {n}.txt: 2 passages" for n in range(8)]


def test_a_collection_follows_a_folder(services: Services, heddle: Run, corpus: Path) -> None:
    def sync() -> list[str]:
        code, out, _ = heddle("ingest", "--sync", str(corpus), "--collection", "kb")
        assert code == 0
        return out.splitlines()[1:]

    heddle("ingest", str(corpus / "a.md"), "--collection", "kb")
    services.knowledge.collections["kb"]["of others.md"] = "0"
    services.knowledge.labels["of others.md"] = {}
    assert sync()[-1] == "kb: 3 documents (1 unchanged, 2 new); 1 file skipped"
    (corpus / "a.md").rename(corpus / "first.md")
    (corpus / "b.RST").unlink()
    assert sync() == [
        "new         first.md: 2 passages",
        "unchanged   more/c.html: 2 passages",
        "removed     a.md: renamed, now first.md",
        "removed     b.RST: its file is gone",
        "kb: 4 documents (1 new, 1 unchanged, 2 removed); 1 file skipped",
    ]
    assert set(services.knowledge.collections["kb"]) == {
        "first.md",
        "more/c.html",
        "of others.md",
    }
    # A folder that lost all files is more likely not mounted.
    for file in (corpus / "first.md", corpus / "more" / "c.html"):
        file.unlink()
    assert heddle("ingest", "--sync", str(corpus), "--collection", "kb")[0] == 1
    assert len(services.knowledge.collections["kb"]) == 3
    other = heddle("ingest", "--sync", str(corpus), str(corpus), "--collection", "kb")
    assert (other[0], "exactly one folder" in other[2]) == (2, True)
