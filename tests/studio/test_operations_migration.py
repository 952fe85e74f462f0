"""The screens of the migration, and flow 4 with an interrupted batch job."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from migration.lamb.lamb_database import filled
from playwright.sync_api import Browser, Page, expect
from studio.harness import VIEWS, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
COPIES = 100_000
MAX_BATCH = 1_000


def _copy(database: Path) -> None:
    """Store many copies of an assistant of LAMB's format, so that a batch job takes a while."""
    with closing(sqlite3.connect(database)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(assistants)")]
        names = ", ".join(name for name in columns if name not in ("id", "name"))
        connection.executemany(
            f"INSERT INTO assistants (name, {names}) "  # noqa: S608 - names of columns
            f"SELECT ?, {names} FROM assistants WHERE id = 42",
            ((f"copy_{number}",) for number in range(COPIES)),
        )


def _start(page: Page, kind: str, *, dry_run: bool) -> None:
    page.get_by_label("Job", exact=True).select_option(label=kind)
    page.get_by_label("Dry run").set_checked(dry_run)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(kind)


def _ended(page: Page) -> None:
    done = page.get_by_role("status").filter(has_text="Done")
    expect(done).to_be_visible(timeout=60_000)  # a job of 100,000 rows on a busy machine


def _import(studio: Studio) -> None:
    with studio.screen() as screen:
        page = screen.page
        screen.open("migration")
        expect(page.get_by_text("Begin with a dry run")).to_be_visible()
        _start(page, "Import", dry_run=True)
        _ended(page)
        page.get_by_label("Show").select_option(label="Refused rows")
        expect(page.get_by_text("No findings.")).to_be_visible()
        page.get_by_label("Show").select_option(label="Notes")
        expect(page.get_by_role("table", name="Findings").get_by_role("row").nth(1)).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        assert Path(download.value.path()).read_text().startswith("table,row_id")
        assert studio.client.get("/assistants").json()["assistants"] == []
        screen.check()
        page.get_by_role("button", name="Now without the dry run").click()
        expect(page.get_by_text("Dry run", exact=True)).to_have_count(0)
        _ended(page)
        screen.check()


def test_a_database_of_lamb_is_imported_swept_and_rolled_back(
    tmp_path: Path, browser: Browser
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    folder = tmp_path / "heddle"
    folder.mkdir()
    environment = {"HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path)}
    with running(folder, browser, **environment) as studio:
        _import(studio)
        _copy(next((folder / ".heddle").rglob("heddle.db")))
        with studio.screen() as screen:
            page = screen.page
            screen.open("migration")
            page.get_by_label("Identifier of the assistant").fill("42")
            page.get_by_role("button", name="Show", exact=True).click()
            expect(page.get_by_role("heading", name="Before (format 1)")).to_be_visible()
            expect(page.get_by_role("heading", name="After (format 2)")).to_be_visible()
            screen.check()
            _start(page, "Bring to the newest format", dry_run=False)
            expect(page.get_by_role("progressbar")).to_be_visible()
            path = page.url.rpartition("/studio/")[2]
            job = studio.client.get(f"/{path.replace('migration', 'migration/jobs')}").json()
            assert job["state"] == "running", job
    # The service has stopped in the middle; the next start goes on.
    with running(folder, browser, **environment) as studio, studio.screen() as screen:
        page = screen.page
        screen.open(path)
        _ended(page)
        expect(page.get_by_text("Interrupted 1 time")).to_be_visible()
        [table] = studio.client.get(f"/migration/jobs/{job['id']}").json()["tables"]
        # The batch that was written when the service stopped counts as unchanged.
        assert table["changed"] > COPIES - MAX_BATCH
        assert table["changed"] + table["unchanged"] + table["refused"] == table["total"]
        screen.check()
        screen.open("migration")
        _start(page, "Roll back", dry_run=False)
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Continue")).to_be_visible()
        page.get_by_role("button", name="Continue").click()
        _ended(page)
        [back] = studio.client.get(f"/migration/jobs/{int(job['id']) + 1}").json()["tables"]
        assert back["changed"] + MAX_BATCH >= table["changed"]
        assert back["refused"] == 0
        screen.check()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_screens_of_the_migration_are_accessible(
    development: Studio, theme: str, width: int
) -> None:
    with development.screen(theme=theme, width=width) as screen:
        screen.open("migration")
        _start(screen.page, "Bring to the newest format", dry_run=False)
        _ended(screen.page)
        screen.check()
        screen.picture(f"migration-job-{theme}-{width}")
        screen.page.get_by_role("link", name="All jobs").click()
        expect(screen.page.get_by_role("table", name="Jobs")).to_be_visible()
        screen.check()
        screen.picture(f"migration-{theme}-{width}")
