"""The SDKs of tools and connectors, by mkdocstrings."""

from docs.reference import markdown

_SDKS = {
    "sdk/tools.md": ("SDK for tools", "heddle_tools_service.sdk"),
    "sdk/connectors.md": ("SDK for connectors", "heddle_connector.sdk"),
    "sdk/connector-tests.md": ("Test kit for connectors", "heddle_connector.sdk.testing"),
}


def pages() -> dict[str, str]:
    """Return a page for each SDK; the documentation generator fills in the docstrings."""
    return {path: markdown.page(title, f"::: {module}") for path, (title, module) in _SDKS.items()}
