"""The page about LAMB's routes: which of them Heddle answers in front of LAMB, and why.

    python -m docs.project.lamb_routes
    python -m docs.project.lamb_routes --check

`lamb_routes.txt` has the routes that the pages of LAMB's frontend call; `benchmarks.lamb` lists
them from a checkout of LAMB.
"""

import sys
from collections.abc import Iterator

from heddle_gateway.app.operations import operations
from heddle_gateway.extensions import installed
from heddle_migration_service.proxy.targets import LambPaths

from docs.project.images import ROOT

PAGE = ROOT / "docs/lamb-routes.md"
ROUTES = ROOT / "docs/project/lamb_routes.txt"
REASONS = (
    ("/creator/assistant/{assistant_id}/chat", "trials; Heddle with `HEDDLE_LAMB_CHATS=heddle`"),
    ("/creator/assistant/{assistant_id}/tests", "LAMB stores tests and their judgements"),
    ("/creator/assistant", "LAMB writes assistants, and Heddle follows"),
    ("/creator/aac", "LAMB's agent edits LAMB's assistants"),
    ("/creator/admin", "LAMB writes users, organisations and quotas, and Heddle follows"),
    ("/creator/users", "LAMB writes users, and Heddle follows"),
    ("/creator/user/", "the profile of LAMB's user"),
    ("/creator/analytics", "LAMB stores the chats of its pages"),
    ("/creator/chats", "LAMB stores the chats of its pages"),
    ("/creator/files", "LAMB stores the files; Heddle reads them in their folder"),
    ("/creator/config", "LAMB asks its knowledge-base server, which can be Heddle"),
    ("/creator/knowledgebases", "LAMB's registry; the contents can be in Heddle"),
    ("/creator/lamb/assistant-sharing", "LAMB writes shares, and Heddle follows"),
    ("/creator/libraries", "documents are at LAMB's library server"),
    ("/creator/rubrics", "LAMB writes rubrics, and Heddle follows"),
    ("/creator/models", "models for LAMB's form"),
    ("/creator/news", "texts of LAMB's pages"),
    ("/creator/", "LAMB's accounts; Heddle accepts its tokens"),
    ("/lamb/v1/completions/list", "LAMB refuses assistants with parts that only Heddle has"),
    ("/lamb/v1/lti", "launches stay in LAMB"),
    ("/", "assistants answer in Heddle, with their tools"),
)
"""By the beginning of a path, why its server answers."""
_HEAD = """# LAMB's routes

`python -m docs.project.lamb_routes` writes this page. It lists the {count} routes that the pages of
LAMB's frontend call, and who answers each of them while Heddle is [in front of LAMB](lamb.md). The
answers of LAMB pass unchanged.

`python -m benchmarks.lamb FOLDER` compares the answers of a running LAMB with those through Heddle.
`FOLDER` is a checkout of LAMB, from which the command takes the routes.

| Route | Answered by | Because |
|---|---|---|
"""


def routes() -> list[tuple[str, str]]:
    """Return the methods and paths."""
    lines = ROUTES.read_text().splitlines()
    return [(method, path) for method, _, path in (line.partition(" ") for line in lines)]


def page() -> str:
    """Return the page."""
    paths = LambPaths(each.path for each in operations(installed()))
    listed = routes()
    return _HEAD.format(count=len(listed)) + "".join(_lines(paths, listed))


def _lines(paths: LambPaths, listed: list[tuple[str, str]]) -> Iterator[str]:
    for method, path in listed:
        scope = {"type": "http", "method": method, "path": path, "headers": []}
        answers = "LAMB" if paths.include(scope) else "Heddle"
        reason = next(reason for start, reason in REASONS if path.startswith(start))
        yield f"| `{method} {path}` | {answers} | {reason} |\n"


def main(*, check: bool) -> int:
    """Write the page, or check that it is as it would be written."""
    if not check:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.stderr.write("docs/lamb-routes.md is not new: python -m docs.project.lamb_routes\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
