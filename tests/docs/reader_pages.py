"""Pages whose commands run against one `make up`, as a reader runs them, in this order."""

from docs.make_up import ROOT

README = ROOT / "README.md"
GUIDES = (
    README,
    ROOT / "docs" / "start" / "first-tool.md",
    ROOT / "docs" / "lamb-import.md",  # before the page about the usage of an assistant from LAMB
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
)
