"""`make images`: builds images without a container engine, and runs each one as Compose would.

    make images                                # all of them
    make images IMAGES="gateway knowledge"

Debian's buildah follows the Dockerfile on a bare Debian instead of python:3.11-slim. Each image's
command then runs with its environment and its user in namespaces of its own: a read-only root, /tmp
and the volume in memory, no capabilities, no network but its own loopback, and limits on memory and
processes. Needs Linux, root, and Debian's buildah, mmdebstrap and iproute2. Takes three minutes for
the first image.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docs.project.images import ROOT, build_arguments, read_compose

BASE = "localhost/heddle-base"
PACKAGES = "python3,python3-venv,ca-certificates,passwd"
RUN = Path(__file__).with_name("run_image.sh")
BUILD_SECONDS, RUN_SECONDS = 1800, 240
# Settings of package clients: the bare Debian reaches the same registries as this machine.
CLIENTS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
CERTIFICATES = CLIENTS[0]
TRUST = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""Variables by which pip, uv and npm find the certificates that this machine trusts."""
PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
SECRETS = {
    "HEDDLE_IDENTITY_SECRET_FILE": "a-secret-of-at-least-32-characters",
    "HEDDLE_GATEWAY_API_KEY_FILE": "lamb_a-key-for-the-gateway",
}
# As the compose file: a run with the limits of Compose shows that they suffice.
MEMORY_BYTES, PROCESSES = 4 * 1024**3, 512


def main(names: list[str]) -> int:
    """Build and run the images, print what happened, and return the exit code."""
    if problem := missing_tools():
        sys.stdout.write(f"{problem}\n")
        return 1
    services = read_compose()["services"]
    failed = 0
    build_base()
    for name in names or [each for each in services if "build" in services[each]]:
        build(name)
        with mounted(name) as root:
            failed += run(name, root)
    return 1 if failed else 0


def missing_tools() -> str:
    """Return what is missing to build and run images, or an empty text."""
    for program in ("buildah", "mmdebstrap", "unshare", "setpriv", "ip"):
        if shutil.which(program) is None:
            return f"{program} is missing: apt-get install buildah mmdebstrap iproute2"
    if os.geteuid() != 0:
        return "Images need root: their file systems are mounted."
    return ""


def build_base() -> None:
    """Make the image that stands for python:3.11-slim, if there is none."""
    if buildah("images", "--quiet", BASE, check=False).strip():
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root = Path(folder) / "root"
        bootstrap = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}"]
        bootstrap += ["bookworm", str(root)]
        subprocess.run(bootstrap, check=True, timeout=BUILD_SECONDS)  # noqa: S603 - fixed
        for client in filter(os.path.exists, CLIENTS):
            shutil.copy(client, root / client.lstrip("/"))
        # pip of Debian refuses to install beside Debian's packages.
        virtual = ["chroot", str(root), "python3", "-m", "venv", "/usr/local"]
        subprocess.run(virtual, check=True, timeout=BUILD_SECONDS)  # noqa: S603 - fixed
        container = buildah("from", "scratch").strip()
        buildah("add", "--quiet", container, str(root), "/")
        variables = [f"PATH={PATH}", *(f"{name}={CERTIFICATES}" for name in TRUST)]
        buildah("config", *(f"--env={each}" for each in variables), container)
        buildah("commit", "--quiet", container, BASE)
        buildah("rm", container)


def build(name: str) -> None:
    """Follow the Dockerfile with the arguments of a service."""
    arguments = build_arguments(name) | {"PYTHON": BASE}
    options = [f"--build-arg={key}={value}" for key, value in arguments.items()]
    # Docker's format has health checks; OCI's has none.
    options += ["--format=docker", "--layers", "--quiet", f"--tag={image(name)}"]
    buildah("build", *options, str(ROOT))


@contextmanager
def mounted(name: str) -> Iterator[Path]:
    """Yield the root folder of a new container."""
    container = buildah("from", image(name)).strip()
    try:
        yield Path(buildah("mount", container).strip())
    finally:
        buildah("rm", container)


def run(name: str, root: Path) -> int:
    """Run an image's command and its checks, print the outcome, and return the exit code."""
    config = _config(name)
    service = read_compose()["services"][name]
    variables = dict(each.split("=", 1) for each in config["Env"])
    variables |= {
        variable: value
        for variable, value in service["environment"].items()
        if value is not None and not value.startswith("${")
    }
    command = config["Cmd"]
    if "entrypoint" in service:
        command = [*service["entrypoint"], *service["command"]]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for variable, secret in SECRETS.items():
            if variable in variables:
                file = Path(folder) / Path(variables[variable]).name
                file.write_text(f"{secret}\n")
                file.chmod(0o444)
        arguments = {
            "ROOT": str(root),
            "SECRETS": folder,
            "OWNER": config["User"],
            "DIRECTORY": config["WorkingDir"],
            "HEALTH_COMMAND": "" if "entrypoint" in service else config["Healthcheck"]["Test"][1],
            "MEMORY_BYTES": str(MEMORY_BYTES),
            "PROCESSES": str(PROCESSES),
            "NAME": name,
        }
        pairs = [f"{key}={value}" for key, value in variables.items()]
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net"]
        ran = subprocess.run(  # noqa: S603 - our own script
            [*enter, "/bin/sh", str(RUN), str(len(pairs)), *pairs, *command],
            check=False,
            env={"PATH": os.environ["PATH"]} | arguments,
            timeout=RUN_SECONDS,
        )
    remove_groups(name)
    return ran.returncode


def remove_groups(name: str) -> None:
    """Remove the control groups of a run that has ended."""
    for parent in ("memory", "pids", "."):
        group = Path("/sys/fs/cgroup", parent, f"heddle-{name}")
        if group.is_dir():
            group.rmdir()


def image(name: str) -> str:
    """Return the name of a service's image in the storage of buildah."""
    return f"localhost/heddle-{name}"


def _config(name: str) -> dict[str, Any]:
    content = json.loads(buildah("inspect", "--type=image", image(name)))
    config: dict[str, Any] = content["Docker"]["config"]
    return config


def buildah(*arguments: str, check: bool = True) -> str:
    """Run buildah, and return what it prints."""
    ran = subprocess.run(  # noqa: S603 - our own arguments
        ["/usr/bin/buildah", *arguments],
        capture_output=True,
        check=False,
        # With `vfs`, each layer is a copy of all layers under it: 50 GB for all images.
        env={"STORAGE_DRIVER": "overlay"} | os.environ | {"BUILDAH_ISOLATION": "chroot"},
        text=True,
        timeout=BUILD_SECONDS,
    )
    if check and ran.returncode:
        raise RuntimeError(f"buildah {arguments[0]}: {ran.stderr[-4000:]}")
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
