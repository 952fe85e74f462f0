"""`make digests`: fixes the images of others by their digests.

Asks the registries for the digest of each `NAME:TAG` in the compose file and in the Dockerfile, and
writes `NAME:TAG@sha256:…`. What has a digest already gets the current one of its tag. Needs
Debian's skopeo, which reads mirrors and certificates of registries from /etc/containers.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.project.images import ROOT

FILES = (ROOT / "docker-compose.yml", ROOT / "Dockerfile")
PINNED = re.compile(
    # An image of the compose file, which a variable may replace, or the base of the Dockerfile.
    r"(?P<before>^(?: +image: (?:\$\{\w+:-)?|ARG PYTHON=))"
    r"(?P<image>[\w./-]+:[\w.-]+)(?:@(?P<digest>sha256:[0-9a-f]{64}))?(?P<after>\}?$)",
    re.MULTILINE,
)
_SECONDS = 60


class UnknownImageError(Exception):
    """No registry has the image."""


def pinned(text: str) -> str:
    """Return the text of a file with the digests of its images.

    Raises:
        UnknownImageError: One of them cannot be looked up; the message says which, and why.
    """
    return PINNED.sub(
        lambda match: f"{match['before']}{match['image']}@{digest(match['image'])}{match['after']}",
        text,
    )


def digest(image: str) -> str:
    """Return the digest of an image of all platforms, or of its only one."""
    ran = subprocess.run(  # noqa: S603 - the names are those of our own files
        ["/usr/bin/skopeo", "inspect", "--raw", f"docker://{image}"],
        check=False,
        capture_output=True,
        timeout=_SECONDS,
    )
    if ran.returncode:
        raise UnknownImageError(f"{image}: {ran.stderr.decode(errors='replace').strip()}")
    return f"sha256:{hashlib.sha256(ran.stdout).hexdigest()}"


def main(files: Sequence[Path] = FILES) -> int:
    """Write the files, print what changed, and return the exit code. Writes all of them or none."""
    if shutil.which("skopeo") is None:
        sys.stdout.write("skopeo is missing: apt-get install skopeo\n")
        return 1
    try:
        texts = {file: pinned(file.read_text()) for file in files}
    except UnknownImageError as problem:
        sys.stdout.write(f"{problem}\n")
        return 1
    for file, text in texts.items():
        before = file.read_text().splitlines()
        for line in (each for each in text.splitlines() if each not in before):
            sys.stdout.write(f"{file.name}: {line.strip()}\n")
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or FILES))
