"""Collections: 20 files of which two fail, a retry, a search, a page and an assistant."""

import re
from pathlib import Path

import pytest
from knowledge.pages.pdfs import pdf
from playwright.sync_api import Route, expect
from studio.harness import LANGUAGES, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
COUNT, BROKEN = 20, 2
SHUTTLE = "The shuttle carries the weft through the shed."


def documents(folder: Path) -> list[Path]:
    """Write 20 files, two of which are no PDFs though they say so."""
    paths = []
    for number in range(COUNT):
        path = folder / f"loom_{number:02}.pdf"
        text = SHUTTLE if number == COUNT - 1 else f"Heddle {number} lifts a thread."
        content = b"not a PDF" if number < BROKEN else pdf(f"Loom {number}.", text)
        path.write_bytes(content)
        paths.append(path)
    return paths


def test_files_are_uploaded_retried_searched_and_used(development: Studio, tmp_path: Path) -> None:
    with development.screen() as screen:
        page = screen.page
        screen.open("knowledge")
        page.get_by_role("button", name="New collection").first.click()
        page.get_by_label("Name", exact=True).fill("Weaving")
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Weaving")
        page.locator("input[type=file][multiple]").set_input_files(documents(tmp_path))
        expect(page.get_by_text("20 of 20 files uploaded")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("2 failed")).to_be_visible(timeout=120_000)
        page.get_by_label("State").select_option("failed")
        rows = page.get_by_role("row").filter(has_text="loom_0")
        expect(rows).to_have_count(BROKEN)
        expect(rows.first).to_contain_text("PDF")
        screen.check()
        page.reload()  # the server's state is the truth
        page.get_by_label("State").select_option("failed")
        rows.first.get_by_role("button", name="Try again").click()
        expect(rows).to_have_count(BROKEN, timeout=60_000)
        page.get_by_label("State").select_option("completed")
        expect(page.get_by_text("18 files")).to_be_visible()
        page.get_by_role("link", name="Search test").click()
        page.get_by_label("Question").fill("What carries the weft?")
        page.get_by_role("button", name="Search").click()
        best = page.get_by_role("list", name="Results").get_by_role("listitem").first
        expect(best).to_contain_text("loom_19.pdf")
        expect(best).to_contain_text("place 1")
        best.get_by_role("button", name="Show the page").click()
        expect(best.get_by_role("img", name="Picture of page 2")).to_be_visible()
        expect(best.locator("mark")).to_have_text(SHUTTLE)
        screen.check()
        page.get_by_role("button", name="Use in an assistant").click()
        page.get_by_role("dialog").get_by_role("button", name="Use", exact=True).click()
        page.wait_for_url("**/studio/assistants/*")
    [assistant] = development.client.get("/assistants?selection=own").json()["assistants"]
    stored = development.client.get(f"/assistants/{assistant['id']}").json()
    stores = development.client.get("/v1/vector_stores").json()["data"]
    assert stored["tools"][0]["config"]["collections"] == [stores[0]["id"]]
    assert len(development.client.get("/v1/files").json()["data"]) == COUNT


@pytest.mark.parametrize("lost", ["request", "response"])
def test_an_upload_whose_connection_breaks_says_so_and_goes_on(
    development: Studio, tmp_path: Path, lost: str
) -> None:
    store = development.client.post("/v1/vector_stores", json={"name": "Broken line"}).json()
    paths = [tmp_path / f"line_{number}.txt" for number in range(4)]
    for path in paths:
        path.write_text(f"{SHUTTLE} {path.stem}. " * 20_000)

    def cut(route: Route) -> None:
        if route.request.method == "POST":
            if lost == "response":  # the server has stored the file
                route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    with development.screen() as screen:
        page = screen.page
        screen.open(f"knowledge/{store['id']}")
        page.route("**/v1/files", cut)
        page.locator("input[type=file][multiple]").set_input_files(paths)
        area = page.get_by_role("region", name="Add files")
        expect(area.get_by_role("alert")).to_contain_text("cannot be reached")
        expect(area.get_by_text("The uploads wait.")).to_be_visible()
        waiting = area.get_by_role("list", name="Files on their way").get_by_role("listitem")
        expect(waiting).to_have_text([re.compile(f"{path.name}.*waiting") for path in paths])
        screen.check(expected=("ERR_CONNECTION_RESET",))
        screen.picture(f"knowledge-upload-{lost}")
        page.unroute("**/v1/files")
        expect(area.get_by_text("4 of 4 files uploaded")).to_be_visible(timeout=60_000)
        expect(area.get_by_role("alert")).to_have_count(0)
        for path in paths:
            expect(page.get_by_role("row").filter(has_text=path.name)).to_have_count(1)
        screen.check(expected=("ERR_CONNECTION_RESET",))
    listed = development.client.get(f"/v1/vector_stores/{store['id']}/files").json()["data"]
    assert sorted(each["filename"] for each in listed) == [path.name for path in paths]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_screens_are_accessible(development: Studio, language: str) -> None:
    client = development.client
    response = client.post("/v1/vector_stores", json={"name": "Looms", "sharing": "organization"})
    with development.screen(language=language) as screen:
        screen.open("knowledge")
        expect(screen.page.get_by_role("link", name="Looms").first).to_be_visible()
        screen.check_in_views(f"knowledge-{{view}}-{language}")
        screen.open(f"knowledge/{response.json()['id']}")
        screen.check_in_views(f"knowledge-collection-{{view}}-{language}")
        screen.open(f"knowledge/{response.json()['id']}?tab=search")
        screen.check_in_views(f"knowledge-search-{{view}}-{language}")
