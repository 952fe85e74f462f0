"""Hostile texts of users, tools, documents and models execute nothing in the studio."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from studio.harness import DESKTOP, Studio, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
# Each part of the result is the question, so a payload reaches all places where texts are shown.
PLUGIN = '''
from heddle_tools_service.sdk import Source, ToolCall, ToolConfig, ToolError, ToolResult, tool

@tool("hostile", title="Hostile", slot="hostile")
async def hostile(call: ToolCall[ToolConfig]) -> ToolResult:
    """Returns the question everywhere."""
    call.status(call.query)
    attributes = {"page": "1", "document": call.query}
    return ToolResult(
        call.query, [Source(call.query, call.query, call.query, kind="page", attributes=attributes)]
    )

@tool("breaking", title="Breaking", slot="breaking")
async def breaking(call: ToolCall[ToolConfig]) -> ToolResult:
    """Fails with the question."""
    raise ToolError(call.query)
'''
HTML = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=https://evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)//",
    "<img/src=`x`onerror=alert(1)>",
    "<img src=https://evil.example/a.png>",
    "<img src='/\\\\evil.example/b.png'>",
    "<img src='/\t/evil.example/c.png'>",
    "<img srcset='https://evil.example/d.png 1x'>",
    "<picture><source srcset=https://evil.example/e.png><img src=x></picture>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><image href=https://evil.example/f.png /></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data=https://evil.example/g></object>",
    "<embed src=https://evil.example/h>",
    "<link rel=stylesheet href=https://evil.example/i.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/j'>",
    "<base href=https://evil.example/><img src=k.png>",
    "<style>@import url(https://evil.example/l.css);</style>",
    "<p style='background:url(https://evil.example/m.png)'>x</p>",
    "<table background=https://evil.example/n.png><tr><td>x</td></tr></table>",
    "<video src=https://evil.example/o.mp4 autoplay onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<video poster=https://evil.example/p.png></video>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)></select>",
    "<details open ontoggle=alert(1)>x</details>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<form action=javascript:alert(1)><button autofocus onfocus=alert(1)>x</button></form>",
    "<template><img src=x onerror=alert(1)></template>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='java&Tab;script:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    '"><img src=x onerror=alert(1)>',
    "--><img src=x onerror=alert(1)><!--",
    "</textarea><img src=x onerror=alert(1)>",
    "</title><script>alert(1)</script>",
)
MARKDOWN = (
    "[x](javascript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "![x](https://evil.example/q.png)",
    '![x" onerror="alert(1)](x)',
    '[x](https://host.example/"onmouseover="alert(1))',
    "```<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n```",
    "[x]: javascript:alert(1)\n\n[x]",
    "<javascript:alert(1)>",
)
PAYLOADS = (*HTML, *MARKDOWN)
SAFE_LINKS = {"http:", "https:", "mailto:"}
_PROTOCOLS = "[...document.querySelectorAll('a[href], area[href]')].map((link) => link.protocol)"
_INSERT = "(html) => document.body.insertAdjacentHTML('beforeend', html)"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Studio]:
    """A Heddle with tools that return what they are asked."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "hostile.py").write_text(PLUGIN)
    with running(folder, browser, HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)) as studio:
        yield studio


@contextmanager
def watched(studio: Studio, *, policy: bool) -> Iterator[tuple[Page, list[str]]]:
    """Open a window, and list what its page executes and which other hosts it asks.

    Args:
        studio: The studio.
        policy: Whether the browser obeys the content security policy. Without it, only the
            sanitiser stops a payload.
    """
    context = studio.browser.new_context(
        bypass_csp=not policy, viewport={"width": DESKTOP, "height": 800}, locale="en"
    )
    page, executed = context.new_page(), list[str]()
    host = urlsplit(studio.url).netloc

    def note(dialog: Dialog) -> None:
        executed.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def ask(url: str) -> None:
        if urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != host:
            executed.append(f"request: {url}")

    page.on("dialog", note)
    page.on("request", lambda request: ask(request.url))
    try:
        yield page, executed
    finally:
        context.close()


def create(studio: Studio, name: str, title: str) -> str:
    """Create an assistant with a title, and return its identifier."""
    body = {
        "name": name,
        "title": title,
        "description": title,
        "model": {"connector": "bypass", "model": "full-conversation-bypass"},
        "prompt_template": "{user_input}\n\n{hostile}\n\n{breaking}",
        "tools": [{"type": "hostile"}, {"type": "breaking"}],
    }
    response = studio.client.post("/assistants", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_there_are_fifty_different_payloads() -> None:
    assert len(set(PAYLOADS)) >= 50


@pytest.mark.parametrize("payload", [HTML[2], HTML[5]])
def test_a_payload_in_a_page_without_a_sanitiser_is_noticed(hostile: Studio, payload: str) -> None:
    with watched(hostile, policy=False) as (page, executed):
        page.goto(f"{hostile.url}/studio/")
        page.get_by_role("heading", level=1).wait_for(state="attached")
        page.evaluate(_INSERT, payload)
        page.wait_for_timeout(500)
        assert executed != []


@pytest.mark.parametrize("policy", [True, False])
def test_tools_sources_and_models_execute_nothing(hostile: Studio, *, policy: bool) -> None:
    identifier = create(hostile, f"trial_{policy}".lower(), "Hostile")
    with watched(hostile, policy=policy) as (page, executed):
        page.goto(f"{hostile.url}/studio/assistants/{identifier}")
        for payload in PAYLOADS:
            page.get_by_label("Your question").fill(payload)
            page.get_by_role("button", name="Send").click()
            article = page.get_by_role("article")
            page.get_by_role("button", name="Trace", exact=True).click()
            page.get_by_role("button", name="Tool hostile").click()
            expect(page.get_by_role("heading", name="Output")).to_be_visible()
            article.get_by_role("heading", name="1 source").wait_for()
            for summary in article.locator("summary:visible").all():
                summary.click()
            page.wait_for_load_state("networkidle")
            assert executed == [], payload
            assert set(page.evaluate(_PROTOCOLS)) <= SAFE_LINKS, payload
            page.get_by_role("button", name="Clear").click()
