"""A bare root for commands: namespaces of its own, the programs, and no file of an installation."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SOURCES = ("services", "gateway/src", "tools-service/src", "migration-service/src", "protos/gen")
_SHARED = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc/ld.so.cache", "/etc/passwd")
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts")
_ENTER = """
set -eu
root=$1; home=$2; archive=$3; command=$4; shift 4
mount -t tmpfs tmpfs "$root"
for path in "$@"; do
  if [ -d "$path" ]; then mkdir -p "$root$path"
  else mkdir -p "$root$(dirname "$path")"; touch "$root$path"; fi
  mount --bind "$path" "$root$path"
done
mkdir -p "$root/proc" "$root/dev/shm" "$root/tmp" "$root/home/operator"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
for device in null zero urandom random; do
  touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"
done
cp "$archive" "$root/home/operator/heddle.tar"
result=$(dirname "$archive")
chroot "$root" /usr/bin/env -i LANG=C.UTF-8 HOME=/home/operator PATH="$home:/usr/bin:/bin" \
  /bin/sh -euc "cd /home/operator; test ! -e '$archive'; $command"
cp "$root/home/operator/again.tar" "$result/again.tar"
"""


def run_in_bare_root(archive: Path, folder: Path, command: str) -> str:
    """Run a command beside a copy of an archive, `heddle.tar`, and copy its `again.tar` back.

    Returns:
        What it prints.
    """
    folder.mkdir()
    shared = [
        *(path for path in _SHARED if Path(path).exists()),
        *(str(ROOT / name) for name in _SOURCES),
        *(str(ROOT / ".venv"), str(Path(sys.base_prefix).resolve())),
    ]
    programs = str(Path(sys.executable).parent)
    done = subprocess.run(  # noqa: S603 - a script of ours
        [
            *("unshare", *_own_users(), *_NAMESPACES, "/bin/sh", "-c", _ENTER, "enter"),
            *(str(folder), programs, str(archive), command, *dict.fromkeys(shared)),
        ],
        capture_output=True,
        check=False,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _own_users() -> list[str]:
    """Return the options for a user namespace. A process in a chroot may not create one."""
    unshare = str(shutil.which("unshare"))
    tried = subprocess.run(  # noqa: S603 - a fixed command
        [unshare, "--user", "--map-root-user", "true"], check=False, capture_output=True
    )
    return [] if tried.returncode else ["--user", "--map-root-user"]
