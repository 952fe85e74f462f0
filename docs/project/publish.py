"""`make publish`: writes built images with their parts lists and signatures into an OCI folder.

    make publish IMAGES="gateway" FOLDER=dist/images KEY=FINGERPRINT

`make images` builds the images first. Of each one, FOLDER has the image in OCI's layout,
`NAME.cdx.json` with its Python packages (CycloneDX), and `NAME.signature`, a signature of the
manifest by a GnuPG key. The command checks the signature and the layout. Needs Debian's skopeo and
gnupg as well.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from docs.project.bare_images import buildah, image, mounted
from docs.project.images import ROOT, read_compose, uv

REGISTRY = "registry.example.org/heddle"
"""Part of the reference that is signed, unless REGISTRY names another."""
_SECONDS = 600


def main(names: list[str], folder: Path, key: str, registry: str) -> int:
    """Write the images, and print their digests."""
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
    """Write the list of the Python packages of an image, and return how many there are."""
    with mounted(name) as root, tempfile.TemporaryDirectory() as cache:
        [packages] = (root / "opt" / "heddle" / "lib").glob("python3.*/site-packages")
        # The tool asks an interpreter for its path; that of the image is not to be run outside.
        program = Path(cache) / "python"
        program.write_text(f"#!/bin/sh\necho '{json.dumps([str(packages)])}'\n")
        program.chmod(0o755)
        tool = [uv(), "tool", "run", "--quiet", "--from", "cyclonedx-bom==7.5.0", "cyclonedx-py"]
        subprocess.run(  # noqa: S603 - our own arguments
            [*tool, "environment", "--output-reproducible", f"--output-file={file}", program],
            check=True,
            timeout=_SECONDS,
        )
    components = json.loads(file.read_text())["components"]
    return len(components)


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
