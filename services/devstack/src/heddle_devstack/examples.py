"""The documents that the assistants in `examples/assistants` search."""

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
from heddle_tools_service.app import ToolsSettings

COLLECTION = "mercurial-help"
DOCUMENTS = Path("examples/documents")
DOCUMENTS_OF_COLLECTIONS = {
    "course-slides": ["statistics-slides.pdf"],
    "help-desk": [
        *("help-desk", "--language", "und"),
        *("--embedding-model", "multilingual-e5-small-q4"),
    ],
    "lab-manual": ["distillation.pdf", "--page-handling", "search"],
}
"""A file or folder of `DOCUMENTS` for each collection, and the options of `heddle ingest`."""
EXAMPLES_READY = "the documents of the examples are ready"
_MAX_PAGE_BYTES = 16_000  # the reference of all settings alone takes a minute to read
log = structlog.get_logger(__name__)


def manual_folder() -> Path | None:
    """Return the folder of help texts in the Mercurial package, None if it is not installed."""
    spec = importlib.util.find_spec("mercurial")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "helptext"


async def prepare(tools: ToolsSettings, knowledge: str) -> None:
    """Fill all collections of the examples, and log when that is done, or why it failed.

    Args:
        tools: The settings of the tools service: the folder of the tool `single_file`, and the
            secret of the services.
        knowledge: The address of the knowledge service.
    """
    ingestions = [ingest_documents(each, tools, knowledge) for each in _collections()]
    try:
        await asyncio.gather(ingest_manual(tools, knowledge), *ingestions)
    except Exception:  # nothing awaits the task that runs this
        log.exception("the documents of the examples are not ready")
    else:
        log.info(EXAMPLES_READY)


def _collections() -> list[str]:
    if not DOCUMENTS.is_dir():
        return []
    collections = set(DOCUMENTS_OF_COLLECTIONS)
    if importlib.util.find_spec("rapidocr") is None:
        collections.remove("lab-manual")
        log.warning("the figure reader has no manual", remedy="Install the packages: make install.")
    return sorted(collections)


async def ingest_documents(collection: str, tools: ToolsSettings, knowledge: str) -> int:
    """Fill a collection of `DOCUMENTS_OF_COLLECTIONS`; the exit code is that of `heddle ingest`."""
    path, *options = DOCUMENTS_OF_COLLECTIONS[collection]
    return await _ingest([str(DOCUMENTS / path), *options], collection, tools, knowledge)


async def ingest_manual(tools: ToolsSettings, knowledge: str, *, quiet: bool = True) -> int:
    """Put Mercurial's manual where the examples look for it.

    Args:
        tools: As for `prepare`.
        knowledge: The address of the knowledge service.
        quiet: Whether the progress is not printed.

    Returns:
        The exit code of `heddle ingest`; 1 if the package mercurial is not installed.
    """
    manual = manual_folder()
    if manual is None:
        log.warning("the examples have no manual", remedy="Install the package mercurial.")
        return 1
    shutil.copytree(manual, tools.files_dir, dirs_exist_ok=True)
    pages = [page for page in manual.glob("*.txt") if page.stat().st_size <= _MAX_PAGE_BYTES]
    arguments = [*map(str, sorted(pages)), "--title", "Mercurial's help"]
    return await _ingest(arguments, COLLECTION, tools, knowledge, quiet=quiet)


async def _ingest(
    arguments: Sequence[str],
    collection: str,
    tools: ToolsSettings,
    knowledge: str,
    *,
    quiet: bool = True,
) -> int:
    """Run `heddle ingest`, which embeds nothing again without changes."""
    command = [
        *(sys.executable, "-m", "heddle_cli", "ingest", *arguments),
        *("--collection", collection),
    ]
    output = subprocess.PIPE if quiet else None
    # A file of `make up` may hold another secret than that of this process.
    own = {
        "HEDDLE_IDENTITY_SECRET": tools.identity_secret.get_secret_value(),
        "HEDDLE_KNOWLEDGE_ADDRESS": knowledge,
    }
    # uvloop forks to start a process, and gRPC's threads do not survive a fork.
    process = await asyncio.to_thread(
        subprocess.run,
        command,
        check=False,
        stdout=output,
        stderr=output,
        text=True,
        env=os.environ | own,
    )
    if process.returncode and quiet:
        log.error("documents are not ingested", collection=collection, output=process.stderr)
    return process.returncode
