"""`heddle ingest`."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from heddle.knowledge.v1 import knowledge_pb2
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from heddle_cli.connections import Connection, connected
from heddle_cli.documents import Document, documents
from heddle_cli.ingestion import Outcome, Progress, ensure_collection, ingest_document
from heddle_cli.options import TOOLS, CollectionName, ToolsAddress
from heddle_cli.terminal import notes, out, plain

_STYLES = {"unreadable": "yellow", "failed": "red", "unchanged": "dim"}
_WIDTH = len("unreadable")


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            exists=True, help="Files, and folders of text, reStructuredText, Markdown, HTML, PDF."
        ),
    ],
    *,
    collection: CollectionName,
    title: Annotated[str, typer.Option(help="The title of a collection that is new.")] = "",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Also the folders in folders.")
    ] = False,
    tools_address: ToolsAddress = TOOLS,
) -> None:
    """Put documents into a collection, which is made if it is missing.

    What a collection holds already costs next to nothing, so an ingestion that was stopped goes
    on when it is started again. Hidden files and links in folders are left out.
    """
    found = documents(paths, recursive=recursive)
    if not found:
        hint = "" if recursive else " Folders in folders are read with --recursive."
        notes.print(f"heddle: There is nothing to ingest.{hint}", style="red")
        raise typer.Exit(1)
    with connected(
        tools_address, knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
    ) as connection:
        if not ensure_collection(connection, collection, title) and title:
            notes.print("The collection exists; its title stays as it is.", style="dim")
        counts = ingest_all(connection, collection, found)
    out.print(_summary(counts, collection))
    if counts["unreadable"] or counts["failed"]:
        raise typer.Exit(1)


def ingest_all(connection: Connection, collection: str, found: list[Document]) -> "Counter[str]":
    """Ingest `found`, tell what becomes of each, and count it."""
    counts: Counter[str] = Counter()
    taken: dict[str, Path] = {}
    with _bars(len(found)) as begin:
        for document in found:
            progress = begin(document)
            other = taken.setdefault(document.name, document.path)
            if other is document.path:
                outcome = ingest_document(connection, collection, document, progress)
            else:
                # The second would replace the first, here and on every later run.
                outcome = Outcome("failed", f"has the same name as {other}")
            counts[outcome.state] += 1
            line = f"{outcome.state:<{_WIDTH}}  {document.name}: {outcome.note}"
            out.print(plain(line), style=_STYLES.get(outcome.state))
    return counts


@contextmanager
def _bars(total: int) -> Iterator[Callable[[Document], Progress]]:
    """Show two bars, documents and passages of the current one; on a terminal only."""
    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    with bars:
        overall = bars.add_task("documents", total=total)
        current = bars.add_task("", total=None)
        seen = 0

        def begin(document: Document) -> Progress:
            nonlocal seen
            bars.update(overall, completed=seen)
            bars.reset(current, description=plain(document.path.name)[:40], total=None)
            seen += 1
            return lambda done, total: bars.update(current, completed=done, total=total)

        yield begin


def _summary(counts: "Counter[str]", collection: str) -> str:
    total = counts.total()
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{collection}: {total} {'document' if total == 1 else 'documents'} ({parts})"
