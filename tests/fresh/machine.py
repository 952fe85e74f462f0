"""`make fresh`: checks that Heddle installs and runs on a Debian 12 that has almost nothing.

Builds a root file system with python3, python3-venv, make and ca-certificates, copies the last
commit into it, and runs `steps.py` there in namespaces of its own. The host's certificates and
the settings of its package clients are copied, so the same registries are used. Nothing else of the
host is visible: no environment, no cache, no program. Needs Linux, root, and Debian's mmdebstrap.

This script and `steps.py` use the standard library only.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = "python3,python3-venv,make,ca-certificates"
CHECKOUT = "root/heddle"
SETTINGS = (
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pip.conf",
    "/etc/uv/uv.toml",
)
HOME_SETTINGS = (".config/pip/pip.conf", ".config/uv/uv.toml", ".npmrc")
VARIABLES = (
    *("PIP_", "UV_", "npm_config_", "NODE_EXTRA_CA_CERTS", "SSL_CERT_"),
    *("http_proxy", "https_proxy", "no_proxy"),
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Runs as the first process of its own process and mount namespaces: when it ends, the kernel ends
# what it started and unmounts what it mounted.
ENTER = f"""
set -eu
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=0755 tmpfs "$1/dev"
mkdir "$1/dev/shm" && mount -t tmpfs tmpfs "$1/dev/shm"
for device in {" ".join(DEVICES)}; do
  touch "$1/dev/$device" && mount --bind "/dev/$device" "$1/dev/$device"
done
ln -s /proc/self/fd "$1/dev/fd"
mkdir "$1/dev/pts" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
root=$1
run="cd /{CHECKOUT} && exec $2"
shift 2
exec env -i "$@" chroot "$root" /bin/sh -c "$run"
"""


def main() -> int:
    """Build the root, run the steps in it, remove it, and return their exit code."""
    for program in ("mmdebstrap", "unshare", "git"):
        if shutil.which(program) is None:
            print(f"make fresh needs {program}: apt-get install mmdebstrap util-linux git")
            return 1
    if os.geteuid() != 0:
        print("make fresh needs root: it mounts file systems and changes the root folder.")
        return 1
    # Not in memory, as /tmp may be: the root takes about 4 GB.
    parent = os.environ.get("TMPDIR", "/var/tmp")  # noqa: S108 - mkdtemp makes a private folder
    folder = Path(tempfile.mkdtemp(prefix="heddle-fresh-", dir=parent))
    try:
        root = folder / "root"
        build(root)
        return subprocess.run(inside(root, "python3 tests/fresh/steps.py"), check=False).returncode
    finally:
        shutil.rmtree(folder)


def inside(root: Path, command: str) -> list[str]:
    """Return the command that runs another one in the checkout of a root, and ends with it."""
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc"]
    return [*namespaces, "sh", "-c", ENTER, "enter", str(root), command, *environment()]


def build(root: Path) -> None:
    """Create the root file system with the last commit in it."""
    print("Building a minimal Debian 12", flush=True)
    install = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}"]
    subprocess.run([*install, "bookworm", str(root)], check=True)
    copies = {Path(name): root / name.lstrip("/") for name in SETTINGS}
    copies |= {Path.home() / name: root / "root" / name for name in HOME_SETTINGS}
    for source, target in copies.items():
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target)
    checkout = root / CHECKOUT
    checkout.mkdir(parents=True)
    commit = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(checkout)], input=commit.stdout, check=True)


def environment() -> list[str]:
    """Return the variables of the root: a plain login's, and the package clients' settings."""
    own = [
        "HOME=/root",
        "LANG=C.UTF-8",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ]
    clients = [
        f"{name}={value}" for name, value in os.environ.items() if name.startswith(VARIABLES)
    ]
    return own + clients


if __name__ == "__main__":
    sys.exit(main())
