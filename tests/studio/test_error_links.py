"""An error in the studio leads to its causes and remedies, which the gateway serves."""

import pytest
from playwright.sync_api import expect
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_an_error_leads_to_the_section_about_its_reason(
    development: Studio, theme: str, width: int
) -> None:
    with development.screen(theme=theme, width=width) as screen:
        screen.page.goto(f"{development.url}/studio/assistants/9999")
        link = screen.page.get_by_role("link", name="Causes and remedies")
        expect(link).to_have_attribute("href", "/errors#not-found")
        screen.check(expected=("404",))
        screen.picture(f"error-link-{theme}-{width}")
        with screen.page.context.expect_page() as opened:
            link.click()
        page = opened.value
        expect(page).to_have_url(f"{development.url}/errors#not-found")
        expect(page.get_by_role("heading", name="NOT_FOUND")).to_be_in_viewport()


def test_the_page_of_errors_is_accessible_and_fits(development: Studio) -> None:
    with development.screen() as screen:
        screen.page.goto(f"{development.url}/errors")
        screen.check_in_views("errors-{view}")
