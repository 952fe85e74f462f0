"""The documents that the assistants in `examples/assistants` search: Mercurial's manual."""

import asyncio
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import structlog

COLLECTION = "mercurial-help"
_MAX_PAGE_BYTES = 16_000  # the reference of all settings alone takes a minute to read
log = structlog.get_logger(__name__)


def manual_folder() -> Path | None:
    """Return the folder of help texts in the Mercurial package, None if it is not installed."""
    spec = importlib.util.find_spec("mercurial")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "helptext"


async def prepare(files: Path, knowledge: str, *, quiet: bool = True) -> int:
    """Put the manual where the examples look for it; without changes nothing is embedded again.

    Args:
        files: The folder of the tool `single_file`.
        knowledge: The address of the knowledge service.
        quiet: Whether the progress is not printed.

    Returns:
        The exit code of `heddle ingest`; 1 if the package mercurial is not installed.
    """
    manual = manual_folder()
    if manual is None:
        log.warning("the examples have no documents", remedy="Install the package mercurial.")
        return 1
    shutil.copytree(manual, files, dirs_exist_ok=True)
    pages = [page for page in manual.glob("*.txt") if page.stat().st_size <= _MAX_PAGE_BYTES]
    command = [
        *(sys.executable, "-m", "heddle_cli", "ingest", *map(str, sorted(pages))),
        *("--collection", COLLECTION, "--title", "Mercurial's help"),
        *("--knowledge-address", knowledge),
    ]
    output = subprocess.PIPE if quiet else None
    # uvloop forks to start a process, and gRPC's threads do not survive a fork.
    process = await asyncio.to_thread(
        subprocess.run, command, check=False, stdout=output, stderr=output, text=True
    )
    if process.returncode and quiet:
        log.error("the manual of the examples is not ingested", output=process.stderr)
    return process.returncode
