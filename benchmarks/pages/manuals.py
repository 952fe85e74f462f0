"""Manuals with pictures, from Debian: fetched when they are needed, never kept here."""

import shutil
import subprocess
from pathlib import Path

MANUALS = {
    "gutenprint-doc": "usr/share/doc/gutenprint-doc/gutenprint-users-manual.pdf",
    "debmake-doc": "usr/share/doc/debmake-doc/debmake-doc.en.pdf",
    "xfig-doc": "usr/share/doc/xfig/xfig_ref_en.pdf",
    "expeyes-doc-en": "usr/share/expeyes/doc/en-eyes.pdf",
}
"""By Debian package, the manual that is read."""
_SECONDS = 120


class NoManualError(Exception):
    """The manual cannot be had: there is no apt, no mirror, or no such package."""


def fetch(package: str, folder: Path) -> Path:
    """Return a manual, fetched by apt into a folder unless it is there already.

    Raises:
        NoManualError: It cannot be had; the message says why.
    """
    folder = folder.resolve()  # the commands run in it
    manual = folder / package / MANUALS[package]
    if manual.exists():
        return manual
    apt, unpack = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or unpack is None:
        raise NoManualError("there is no apt-get or no dpkg-deb")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _run([apt, "download", package], folder)
        (archive,) = folder.glob(f"{package}_*.deb")
        _run([unpack, "-x", str(archive), str(folder / package)], folder)
    except (subprocess.SubprocessError, ValueError) as error:
        raise NoManualError(f"apt-get cannot download {package}") from error
    return manual


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(  # noqa: S603 - our own arguments
        command, cwd=folder, check=True, capture_output=True, timeout=_SECONDS
    )
