"""A Git repository, cloned with the `git` of the machine."""

import os
import subprocess
from pathlib import Path
from urllib.parse import urldefrag

from heddle_runtime.errors import InvalidRequestError

_SECONDS = 600.0
_SETTINGS = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}


def cloned(address: str, folder: Path) -> None:
    """Bring the latest files of a repository into an empty folder.

    Args:
        address: Of the repository, with `#BRANCH` for another branch than its default.
        folder: Where they go.

    Raises:
        InvalidRequestError: It cannot be cloned; the message has git's reason.
    """
    url, branch = urldefrag(address)
    command = ["git", "clone", "--quiet", "--depth=1", "--single-branch"]
    command += [f"--branch={branch}"] if branch else []
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the address follows `--`
            [*command, "--", url, str(folder)],
            env={**os.environ, **_SETTINGS},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise InvalidRequestError("The program git is not installed. Install it first.") from None
    except subprocess.TimeoutExpired:
        raise InvalidRequestError(f"{url} was not cloned within {_SECONDS:g} s.") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason told"]
        raise InvalidRequestError(f"{url} cannot be cloned: {lines[-1]}")
