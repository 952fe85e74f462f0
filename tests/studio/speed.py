"""How fast the studio reacts, as measured in the browser."""

from playwright.sync_api import Page

MAX_SECONDS = 0.2
"""For an interaction with much on the screen."""


def seconds_until_painted(page: Page, action: str) -> float:
    """Return how long the page needs from an action until it has shown the result."""
    script = """async (action) => {
        const start = performance.now();
        await new Function(action)();
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        return (performance.now() - start) / 1000;
    }"""
    return float(page.evaluate(script, action))
