"""All images, built without an engine, run as Compose runs them, and published.

`make test-images` runs this file, as root and for half an hour: each image installs its packages
and compiles them. Layers that did not change since the last run are reused.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from docs.project import bare_images, publish
from docs.project.images import read_compose
from docs.project.publish import manifest_of, packages_in

pytestmark = pytest.mark.timeout(bare_images.BUILD_SECONDS + bare_images.RUN_SECONDS)
IMAGES = [name for name, content in read_compose()["services"].items() if "build" in content]
REFERENCE = "registry.example.org/heddle/heddle-gateway:0.1.0"


@pytest.fixture(scope="module", autouse=True)
def base() -> None:
    assert publish.missing_tools() == ""
    bare_images.build_base()


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The fingerprint of a new GnuPG key that signs without asking."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    generating = ["--batch", "--passphrase", "", "--quick-generate-key", "heddle-test"]
    run("gpg", *generating)
    listed = run("gpg", "--list-keys", "--with-colons").splitlines()
    return next(line.split(":")[9] for line in listed if line.startswith("fpr:"))


def run(*command: str) -> str:
    ran = subprocess.run(  # noqa: S603 - programs of Debian
        command, check=True, capture_output=True, text=True, timeout=120
    )
    return ran.stdout


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_runs_with_a_read_only_root_its_user_and_the_limits_of_compose(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """`run_image.sh` fails at the first check that does not hold; see docs/containers.md."""
    bare_images.build(name)

    with bare_images.mounted(name) as root:
        assert bare_images.run(name, root) == 0

    printed = capfd.readouterr().out
    assert printed.startswith(name)
    if name == "heddle":
        assert "runs heddle --help" in printed
    else:
        assert "healthy after" in printed
        assert "stopped: read-only root, user 10001:10001, no capabilities" in printed


def test_a_published_image_has_its_packages_and_a_signature_of_its_content(
    tmp_path: Path, key: str
) -> None:
    bare_images.build("gateway")

    assert publish.main(["gateway"], tmp_path, key, REFERENCE.rpartition("/")[0]) == 0

    kinds = Counter(url.split("/")[0] for url in packages_in(tmp_path / "heddle-gateway.cdx.json"))
    assert kinds["pkg:deb"] > 50
    assert kinds["pkg:pypi"] > 30
    digest, manifest = manifest_of(tmp_path / "heddle-gateway")
    signature = str(tmp_path / "heddle-gateway.signature")
    verifying = ("skopeo", "standalone-verify")
    assert digest in run(*verifying, str(manifest), REFERENCE, key, signature)

    changed = tmp_path / "manifest.json"
    changed.write_text(json.dumps(json.loads(manifest.read_text()) | {"annotations": {"a": "b"}}))
    with pytest.raises(subprocess.CalledProcessError):
        run(*verifying, str(changed), REFERENCE, key, signature)
    layer = max((tmp_path / "heddle-gateway" / "blobs" / "sha256").iterdir(), key=size)
    layer.write_bytes(layer.read_bytes()[:-1] + b"\0")
    with pytest.raises(ValueError, match="is not what its name says"):
        manifest_of(tmp_path / "heddle-gateway")


def size(file: Path) -> int:
    return file.stat().st_size
