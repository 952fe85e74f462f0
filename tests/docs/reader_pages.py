"""Pages whose commands run against one `make up`, as a reader runs them, in this order."""

from docs.make_up import ROOT

README = ROOT / "README.md"
TUTORIALS = tuple(sorted((ROOT / "docs" / "start").glob("*.md")))
"""Each is followed by a test from an empty folder to its end."""
GUIDES = (
    README,
    ROOT / "docs" / "lamb-import.md",  # before the page about the usage of an assistant from LAMB
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *sorted((ROOT / "docs" / "examples").glob("*.md")),
)
