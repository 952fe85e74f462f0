"""The MCP servers of an organisation in the studio: checked against real ones, and accepted."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Route, expect
from studio.harness import VIEWS, Screen, Studio, running
from tools_service.mcp_sites import Library, library

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
UNI = "/organizations/uni"
PATH = "organizations/uni/mcp"
OLD = f"sha256:{'0' * 64}"
LONG = "Finds books.\n\n" + "It also reads the newest journals of the faculty. " * 6


@contextmanager
def site(**options: str) -> Iterator[Library]:
    """Serve an MCP server in a thread: Playwright's loop occupies this one."""
    running_site: list[Library] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with library(**options) as started:
            running_site.append(started)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield running_site[0]
    finally:
        done.set()
        thread.join(30)


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with an organisation, which may use servers of this machine."""
    folder = tmp_path_factory.mktemp("university")
    private = {"HEDDLE_ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"}
    with running(folder, browser, **private) as studio:
        yield studio


def store(studio: Studio, **servers: object) -> None:
    settings = {"settings": {"mcp_servers": servers}}
    studio.client.put(UNI, json=settings).raise_for_status()


def pins(studio: Studio) -> dict[str, str]:
    settings = studio.client.get(UNI).json()["settings"]
    stored: dict[str, str] = settings["mcp_servers"]["library"].get("pins", {})
    return stored


def current_pins(studio: Studio) -> dict[str, str]:
    server = studio.client.get(UNI).json()["settings"]["mcp_servers"]["library"]
    body = {"organization": "uni", "credential": "library", "url": server["url"]}
    tools = studio.client.post("/mcp/pins", json=body).raise_for_status().json()["tools"]
    return {each["name"]: each["pin"] for each in tools if each["pin"]}


def check(screen: Screen, name: str = "library") -> None:
    screen.page.get_by_role("button", name=f"Check {name}").click()


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_tools_of_servers_are_shown_accessibly(
    university: Studio, theme: str, width: int
) -> None:
    with site(description=LONG) as running_site:
        store(university, library={"url": running_site.url, "token": "a-secret-token"})
        current = current_pins(university)
        accepted = {"show": current["show"], "find": OLD, "gone": OLD}
        server = {"url": running_site.url, "token": "a-secret-token", "pins": accepted}
        store(university, library=server, other={"url": "https://mcp.example.org/mcp"})
        with university.screen(theme=theme, width=width) as screen:
            screen.open(PATH)
            expect(screen.page.get_by_role("heading", name="other")).to_be_visible()
            screen.check()
            check(screen)
            tools = screen.page.get_by_role("list", name="Tools of library").get_by_role("listitem")
            expect(tools).to_have_count(8)
            expect(tools.first).to_contain_text("has changed this tool since it was accepted")
            tools.first.locator("summary").click()
            expect(tools.first.get_by_text('"title"').first).to_be_visible()
            screen.check()
            assert "a-secret-token" not in screen.page.content()
            screen.picture(f"{PATH.replace('/', '-')}-{theme}-{width}")


def test_a_changed_tool_is_accepted_with_the_keyboard_and_stored(university: Studio) -> None:
    with site() as running_site:
        server = {"url": running_site.url, "token": "a-secret-token", "pins": {"find": OLD}}
        store(university, library=server)
        current = current_pins(university)
        with university.screen() as screen:
            page = screen.page
            screen.open(PATH)
            check(screen)
            tool = page.get_by_role("listitem").filter(has_text="find").first
            expect(tool).to_contain_text("Changed")
            tool.get_by_role("button", name="Accept find").focus()
            page.keyboard.press("Enter")
            expect(page.get_by_text("find is accepted for the assistants")).to_be_visible()
            expect(tool.get_by_role("button", name="Withdraw find")).to_be_focused()
            expect(page.get_by_text("Accepted tools: 1")).to_be_visible()
            assert pins(university) == {"find": current["find"]}
            page.get_by_role("button", name="Accept tell").click()
            expect(page.get_by_text("tell is accepted for the assistants")).to_be_visible()
            assert pins(university) == {"find": current["find"], "tell": current["tell"]}
            page.get_by_role("button", name="Withdraw find").click()
            expect(page.get_by_text("does not accept find any more")).to_be_visible()
            screen.check()
        assert pins(university) == {"tell": current["tell"]}
        stored = university.client.get(UNI).json()["settings"]["mcp_servers"]["library"]
        assert stored["token"] == "********"


def test_a_pin_of_a_lost_tool_is_withdrawn(university: Studio) -> None:
    with site() as running_site:
        store(university, library={"url": running_site.url, "pins": {"gone": OLD}})
        with university.screen() as screen:
            screen.open(PATH)
            check(screen)
            tool = screen.page.get_by_role("listitem").filter(has_text="gone")
            expect(tool).to_contain_text("The server no longer has this tool")
            tool.get_by_role("button", name="Withdraw gone").click()
            expect(tool).to_have_count(0)
            screen.check()
    assert pins(university) == {}


def test_a_server_that_is_down_says_so_and_is_checked_again(university: Studio) -> None:
    with site() as running_site:
        pass
    store(university, library={"url": running_site.url})
    with university.screen() as screen:
        page = screen.page
        screen.open(PATH)
        check(screen)
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("does not answer")
        expect(alert).to_contain_text("req_")
        screen.check(expected=("503",))
        with site() as restarted:
            store(university, library={"url": restarted.url})
            screen.open(PATH)
            check(screen)
            expect(page.get_by_role("button", name="Accept find")).to_be_visible()
            expect(alert).to_have_count(0)


def test_a_server_that_another_administrator_moved_is_not_accepted(university: Studio) -> None:
    with site() as running_site:
        store(university, library={"url": running_site.url})
        with university.screen() as screen:
            screen.open(PATH)
            check(screen)
            accept = screen.page.get_by_role("button", name="Accept find")
            expect(accept).to_be_visible()
            store(university, library={"url": "https://mcp.example.org/mcp"})
            accept.click()
            tool = screen.page.get_by_role("listitem").filter(has=accept)
            expect(tool.get_by_text("Someone else has moved or removed")).to_be_visible()
            screen.check()
    assert pins(university) == {}


def test_a_refused_pin_is_reported_beside_its_tool(university: Studio) -> None:
    def change_in_between(route: Route) -> None:
        """Change the organisation after the studio has read it and before it stores the pin."""
        university.client.put(UNI, json={"name": "Changed"}).raise_for_status()
        route.continue_()

    with site() as running_site, university.screen() as screen:
        store(university, library={"url": running_site.url})
        screen.open(PATH)
        check(screen)
        put = f"**{UNI}"
        screen.page.route(
            put,
            lambda route: (
                change_in_between(route) if route.request.method == "PUT" else route.continue_()
            ),
        )
        accept = screen.page.get_by_role("button", name="Accept find")
        accept.click()
        tool = screen.page.get_by_role("listitem").filter(has=accept)
        expect(tool.get_by_role("alert")).to_contain_text("req_")
        assert pins(university) == {}
        screen.page.unroute(put)
        accept.click()
        expect(screen.page.get_by_role("button", name="Withdraw find")).to_be_visible()
        screen.check(expected=("409",))
    assert list(pins(university)) == ["find"]


def test_an_organisation_without_servers_is_shown_the_first_step(university: Studio) -> None:
    store(university)
    with university.screen() as screen:
        screen.open(PATH)
        screen.page.get_by_role("link", name="Open the settings").click()
        expect(screen.page.get_by_role("button", name="Add an MCP server")).to_be_visible()
        screen.check()
