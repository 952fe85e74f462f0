"""The reasons of failures: their codes, causes and remedies."""

from pathlib import Path

from heddle_gateway.http.error_responses import from_error
from heddle_runtime.errors import HeddleError
from heddle_runtime.errors.guide import anchor, explanations

from docs.reference import contracts, markdown

_INTRODUCTION = """\
Every failure has a reason. REST answers with OpenAI's object `error`; its member
`documentation_url` leads to the section of the reason, relative to the address of the gateway.
`heddle` prints where to read on, and the studio shows a link.

The gateway serves this page at `/errors`, also without a network. With `HEDDLE_DOCUMENTATION_URL`,
`/errors` and `/docs` lead to the documentation site there."""
_ROOT = Path(__file__).parents[2]
_GENERATED = {"reference/rest.md": "REST", "reference/settings.md": "Settings"}
"""Pages that have no source, and their titles."""
_PROVIDER = "PROVIDER_REFUSED"


def pages() -> dict[str, str]:
    """Return the page."""
    comment, listed = contracts.reasons(contracts.contracts())
    classes: list[type[HeddleError]] = [HeddleError, *HeddleError.__subclasses__()]
    kinds = {kind.reason: kind for kind in classes}
    rows = [
        (f"[`{reason}`](#{anchor(reason)})", markdown.code(code), meaning)
        for reason, (code, meaning) in listed.items()
    ]
    table = markdown.table(("Reason", "gRPC code", "Meaning"), rows)
    sections = [_section(kinds[reason]) for reason in listed]
    return {
        "errors.md": markdown.page(
            "Errors", _INTRODUCTION, *sections, "## In the contract", comment, table
        )
    }


def _section(kind: type[HeddleError]) -> str:
    reason = kind.reason
    explanation = explanations()[reason]
    response = from_error(kind(""))
    status = "the provider's status" if reason == _PROVIDER else f"HTTP {response.status}"
    code = f", code `{response.code}`" if response.code else ""
    parts = [
        f"## {reason} {{#{anchor(reason)}}}",
        f"{explanation.meaning} ({status}{code})",
        "Usual causes:",
        _list(explanation.causes),
        "What to do:",
        _list(explanation.remedies),
    ]
    if explanation.pages:
        links = (_link(page) for page in explanation.pages)
        parts.append(f"Read on: {', '.join(links)}.")
    return "\n\n".join(parts)


def _list(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _link(page: str) -> str:
    """Return a link with the title of a page."""
    source = _ROOT / ("CHANGELOG.md" if page == "changes.md" else f"docs/{page}")
    title = _GENERATED.get(page) or source.read_text().splitlines()[0].removeprefix("# ")
    return f"[{title}](../{page})"
