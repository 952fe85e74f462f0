"""Unix sockets on which services listen, for callers of the same user."""

import socket
import stat
from pathlib import Path

PREFIX = "unix:"
_SECONDS = 1.0


def prepare(address: str) -> None:
    """Make room for a socket at `address`: create its folder, remove what a dead process left.

    gRPC itself replaces the socket of a running process, whose callers then reach another one.

    Raises:
        OSError: A running process listens there, the path is no socket, or the folder cannot be
            created.
    """
    path = _path(address)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        message = f"Cannot listen on {address}: the file exists and is no socket."
        raise OSError(message)
    if _answers(path):
        message = (
            f"Cannot listen on {address}: a running process listens there. Stop it, or set another "
            "path."
        )
        raise OSError(message)
    path.unlink(missing_ok=True)


def make_private(address: str) -> None:
    """Let only the user of this process connect to the socket at `address`."""
    _path(address).chmod(0o600)


def _path(address: str) -> Path:
    return Path(address.removeprefix(PREFIX).removeprefix("//"))


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_SECONDS)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return False
        except BlockingIOError:  # its queue of connections is full
            return True
    return True
