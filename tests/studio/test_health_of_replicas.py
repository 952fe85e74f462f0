"""The screen of the health shows the replicas of a service."""

from pathlib import Path

import httpx
import pytest
from integration.two_connectors import CONNECTOR, OTHER_VERSION, two_connectors
from playwright.sync_api import Browser, expect
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
MILLISECONDS = 60_000


def test_replicas_are_listed_with_versions_and_problems(tmp_path: Path, browser: Browser) -> None:
    with two_connectors(tmp_path) as pair, httpx.Client(base_url=pair.first.url) as client:
        studio = Studio(pair.first.url, browser, client, tmp_path, "")
        for theme, width in VIEWS:
            with studio.screen(theme=theme, width=width) as screen:
                screen.open("health")
                service = screen.page.get_by_role("listitem").filter(has_text="connector").last
                item = service.filter(has=screen.page.get_by_role("heading", name="Replicas"))
                expect(item).to_contain_text(pair.addresses[0], timeout=MILLISECONDS)
                expect(item).to_contain_text(f"Version {OTHER_VERSION}", timeout=MILLISECONDS)
                expect(screen.page.locator("main")).to_contain_text(f"connector {OTHER_VERSION}")
                screen.check(expected=("503",))
                item.scroll_into_view_if_needed()
                screen.picture(f"replicas-{theme}-{width}")
        pair.second.kill(CONNECTOR)
        with studio.screen() as screen:
            screen.open("health")
            problems = screen.page.get_by_role("region", name="problem")
            expect(problems).to_contain_text(
                f"connector, {pair.addresses[1]}", timeout=MILLISECONDS
            )
            screen.check(expected=("503",))
            screen.picture("replicas-killed")
