"""`heddle ingest`."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import Annotated, Literal

import typer
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from heddle_runtime.errors import HeddleError

from heddle_cli.connections import Connection, connected
from heddle_cli.document_metadata import entries, time_of
from heddle_cli.documents import Document, Documents, documents
from heddle_cli.failures import sentence
from heddle_cli.ingestion import Outcome, ensure_collection, ingest_document
from heddle_cli.options import CollectionName
from heddle_cli.progress import progress_display
from heddle_cli.sources.moodle import TOKEN
from heddle_cli.sources.opening import is_source, opened
from heddle_cli.syncing import SYNC, remove_gone, source_mark
from heddle_cli.terminal import counted, notes, out, plain

_STYLES = {"unreadable": "yellow", "failed": "red", "unchanged": "dim"}
_WIDTH = len("unreadable")
_MAX_CONCURRENT = 16
"""Concurrent documents: small ones share commits and embedding batches."""
_MAX_CHARACTERS = 1_000_000
"""More than any service accepts."""
_PAGES = {
    None: knowledge_pb2.PAGE_HANDLING_UNSPECIFIED,
    "text": knowledge_pb2.PAGE_HANDLING_TEXT,
    "pictures": knowledge_pb2.PAGE_HANDLING_PICTURES,
    "search": knowledge_pb2.PAGE_HANDLING_SEARCH,
}
_SHARINGS = {
    "private": knowledge_pb2.SHARING_PRIVATE,
    "organization": knowledge_pb2.SHARING_ORGANIZATION,
    "everyone": knowledge_pb2.SHARING_EVERYONE,
}


def ingest(  # noqa: PLR0913 (each is an option that people type)
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files, and folders of documents: PDF, office programs, HTML, EPUB, e-mail, "
            "Markdown, text, tables, notebooks, captions and source code. Also web sites "
            "(https://HOST/FOLDER/), repositories (git+URL#BRANCH) and courses of Moodle "
            "(moodle+URL#NUMBER).",
        ),
    ],
    *,
    collection: CollectionName,
    metadata: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Metadata of all documents. Repeatable."),
    ] = [],  # noqa: B006 (typer takes no tuple for what may be repeated)
    date: Annotated[
        str,
        typer.Option(help="The date or time of the documents. By default, each document's own."),
    ] = "",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Include subfolders.")
    ] = False,
    sync: Annotated[
        bool,
        typer.Option(
            "--sync",
            help="Keep the collection like one folder, subfolders included, or one other source: "
            "documents of files and pages that are gone are removed.",
        ),
    ] = False,
    every: Annotated[
        float,
        typer.Option(min=0, help="Repeat this after so many minutes, until it is stopped."),
    ] = 0,
    depth: Annotated[
        int, typer.Option(min=0, help="Links that may lead to a page of a web site.")
    ] = 3,
    moodle_token: Annotated[
        str, typer.Option(envvar=TOKEN, help="The token of Moodle's web services.")
    ] = "",
    title: Annotated[str, typer.Option(help="The title of a new collection.")] = "",
    embedding_model: Annotated[
        str, typer.Option(help="The embedding model of a new collection.")
    ] = "",
    language: Annotated[
        str,
        typer.Option(help="The language for full-text search, as sv; und for none. [default: en]"),
    ] = "",
    chunk_characters: Annotated[
        int,
        typer.Option(min=0, max=_MAX_CHARACTERS, help="The target size of passages in characters."),
    ] = 0,
    page_handling: Annotated[
        Literal["text", "pictures", "search"] | None,
        typer.Option(help="Pages: text only, with their images, or searchable by image."),
    ] = None,
    graph: Annotated[
        bool, typer.Option("--graph", help="Extract a graph of the names in documents.")
    ] = False,
    sharing: Annotated[
        Literal["private", "organization", "everyone"] | None,
        typer.Option(
            help="Who may read it besides the operator. The default is the organisation 'default'."
        ),
    ] = None,
) -> None:
    """Add documents to a collection, which is created if it does not exist.

    Unchanged documents are skipped, so an interrupted command continues when it is repeated. Of a
    changed document only the changes are embedded. With --sync, documents that an earlier run with
    --sync added from the same source are removed when their files are gone. What others added
    stays, and a source that is empty or cannot be read whole removes nothing. Hidden files and
    links in folders are skipped. Of a web site, the pages in and below the folder of the address
    are read that its robots.txt permits: those of its sitemap, and those that links lead to.
    The options from --title on apply to a new collection. It belongs to the default organisation,
    whose members and API keys may read it. Progress goes to standard error unless standard output
    is a terminal.
    """
    labels = entries(metadata)
    if sync:
        labels[SYNC] = source_mark(paths)
    common = knowledge_pb2.IngestDocumentRequest(
        collection=collection, metadata=labels, document_time=time_of(date)
    )
    settings = knowledge_pb2.Collection(
        title=title,
        embedding_model=embedding_model,
        language=language,
        page_handling=_PAGES[page_handling],
        graph=graph,
    )
    if chunk_characters:
        settings.chunking.target_characters = chunk_characters
    set_fields = bool(sharing or settings.ListFields())
    settings.name = collection
    settings.sharing = _SHARINGS[sharing or "organization"]

    def once() -> bool:
        with ExitStack() as held:
            read = _read(held, paths, recursive=recursive or sync, depth=depth, token=moodle_token)
            for note in read.skipped:
                out.print(plain(f"{'skipped':<{_WIDTH}}  {note}"), style="dim")
            if not read.documents:
                hint = "" if recursive else " Folders in folders are read with --recursive."
                notes.print(f"heddle: There is nothing to ingest.{hint}", style="red")
                return False
            connection = held.enter_context(connected("knowledge", KnowledgeServiceStub))
            if not ensure_collection(connection, settings) and set_fields:
                notes.print("The collection exists and stays as it is.", style="dim")
            counts = ingest_all(connection, common, read.documents)
            if sync:
                counts["removed"] += _removed(connection, common, read)
            out.print(_summary(+counts, collection, len(read.skipped)))
            return not (counts["unreadable"] or counts["failed"])

    repeat(once, every)


def repeat(once: Callable[[], bool], minutes: float) -> None:
    """Do it, and again after so many minutes, whatever came of it; 0: do it once."""
    while minutes:
        try:
            once()
        except HeddleError as error:
            notes.print(plain(f"heddle: {sentence(error)}"), style="red")
        sleep(60 * minutes)
    if not once():
        raise typer.Exit(1)


def _read(
    held: ExitStack, paths: list[str], *, recursive: bool, depth: int, token: str
) -> Documents:
    """Read sources, whose files stay as long as `held`."""
    read = [
        held.enter_context(opened(path, depth, token))
        if is_source(path)
        else documents([_existing(path)], recursive=recursive)
        for path in paths
    ]
    files = {each.path.resolve(): each for every in reversed(read) for each in every.documents}
    listed = [each for every in read for each in every.documents]
    return Documents(
        [each for each in listed if files[each.path.resolve()] is each],
        [note for every in read for note in every.skipped],
        is_whole=all(every.is_whole for every in read),
    )


def _existing(path: str) -> Path:
    if not Path(path).exists():
        raise typer.BadParameter(f"Path {path!r} does not exist.", param_hint="PATHS...")
    return Path(path)


def _removed(
    connection: Connection[KnowledgeServiceStub],
    common: knowledge_pb2.IngestDocumentRequest,
    read: Documents,
) -> int:
    """Remove documents of the source that are gone, if all of it was read; return how many."""
    if not read.is_whole:
        notes.print("Nothing was removed: not all of the source could be read.", style="yellow")
        return 0
    count = 0
    for name, note in remove_gone(connection, common, read.documents):
        count += 1
        out.print(plain(f"{'removed':<{_WIDTH}}  {name}: {note}"))
    return count


def ingest_all(
    connection: Connection[KnowledgeServiceStub],
    common: knowledge_pb2.IngestDocumentRequest,
    files: list[Document],
) -> "Counter[str]":
    """Ingest `files` concurrently, print their results in order, and return the counts."""
    counts: Counter[str] = Counter()
    taken: dict[str, Path] = {}
    pool = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="ingestion")
    with progress_display(len(files)) as display:

        def ingested(document: Document) -> Outcome:
            other = taken[document.name]
            if other is not document.path:
                # It would replace the other in each run.
                return Outcome("failed", f"has the same name as {other}")
            return ingest_document(connection, common, document, display.begin(document))

        for document in files:
            taken.setdefault(document.name, document.path)
        try:
            for document, outcome in zip(files, pool.map(ingested, files), strict=True):
                display.end()
                counts[outcome.state] += 1
                line = f"{outcome.state:<{_WIDTH}}  {document.name}: {outcome.note}"
                out.print(plain(line), style=_STYLES.get(outcome.state))
        except BaseException:  # also Ctrl-C: running calls stop, here and in the service
            connection.channel.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return counts


def _summary(counts: "Counter[str]", collection: str, skipped: int) -> str:
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    text = f"{collection}: {counted(counts.total(), 'document')} ({parts})"
    return f"{text}; {counted(skipped, 'file')} skipped" if skipped else text
