"""Which file systems are on another machine."""

from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs", "afs"})


def is_remote(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether a file is on a network file system."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:  # not on Linux
        return False
    deepest, kind = -1, ""
    resolved = path.resolve()
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split(" ")[4].replace("\\040", " "))
        depth = len(point.parts)
        # Of two mounts at one place, the later one is in use.
        if depth >= deepest and resolved.is_relative_to(point):
            deepest, kind = depth, rest.split(" ")[0]
    return kind in _REMOTE
