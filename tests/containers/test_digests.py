"""`make digests` asks a registry: one of this machine stands for those of the images."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from runtime.ports import free_port

from docs.project.digests import FILES, PINNED, UnknownImageError, main, pinned

MISSING = [name for name in ("skopeo", "docker-registry") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(bool(MISSING), reason=f"apt-get install {' '.join(MISSING)}"),
]
HOSTS = ("docker.io", "ghcr.io")
CONFIGURATION = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "{address}"}}
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a registry, and images of nothing under the names that the files have."""
    folder = tmp_path_factory.mktemp("registry")
    address = f"127.0.0.1:{free_port()}"
    file = folder / "registry.yml"
    file.write_text(CONFIGURATION.format(folder=folder / "data", address=address))
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - a program of Debian
            ["/usr/bin/docker-registry", "serve", str(file)], stdout=log, stderr=log
        ) as process,
    ):
        try:
            wait(f"http://{address}/v2/")
            for number, image in enumerate(sorted(images())):
                push(folder / str(number), image, address)
            yield address
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def mirrors(registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let skopeo find the images of all hosts in the registry."""
    file = tmp_path / ".config" / "containers" / "registries.conf"
    file.parent.mkdir(parents=True)
    file.write_text(
        "".join(
            f'[[registry]]\nprefix = "{host}"\nlocation = "{registry}/{host}"\ninsecure = true\n'
            for host in HOSTS
        )
    )
    monkeypatch.setenv("HOME", str(tmp_path))


def images() -> set[str]:
    """Return the images of the files, with the host and the folder that names leave out."""
    return {
        full_name(match["image"]) for file in FILES for match in PINNED.finditer(file.read_text())
    }


def full_name(image: str) -> str:
    if image.startswith(HOSTS):
        return image
    return f"docker.io/{image if '/' in image else f'library/{image}'}"


def push(folder: Path, image: str, address: str) -> None:
    """Push an image without files; its configuration makes its digest another one."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content: object, kind: str) -> dict[str, object]:
        data = json.dumps(content).encode()
        name = hashlib.sha256(data).hexdigest()
        (blobs / name).write_bytes(data)
        media_type = f"application/vnd.oci.image.{kind}.v1+json"
        return {"mediaType": media_type, "digest": f"sha256:{name}", "size": len(data)}

    system = {"architecture": "amd64", "os": "linux", "author": image}
    config = blob(system | {"rootfs": {"type": "layers", "diff_ids": []}}, "config")
    manifest = blob({"schemaVersion": 2, "config": config, "layers": []}, "manifest")
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    target = f"docker://{address}/{image}"
    copying = ["/usr/bin/skopeo", "copy", "--insecure-policy", "--dest-tls-verify=false"]
    subprocess.run(  # noqa: S603 - a program of Debian
        [*copying, f"oci:{folder}", target], check=True, capture_output=True, timeout=60
    )


def wait(url: str) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


def test_the_images_of_others_get_the_digests_that_the_registry_serves(
    registry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = [Path(shutil.copy(file, tmp_path)) for file in FILES]

    assert main(copies) == 0

    for file, copy in zip(FILES, copies, strict=True):
        after = list(PINNED.finditer(copy.read_text()))
        assert [each["image"] for each in after] == [
            each["image"] for each in PINNED.finditer(file.read_text())
        ]
        assert after
        for each in after:
            name, _, tag = full_name(each["image"]).rpartition(":")
            url = f"http://{registry}/v2/{name}/manifests/{tag}"
            accept = {"accept": "application/vnd.oci.image.manifest.v1+json"}
            response = httpx.get(url, headers=accept)
            assert response.headers["docker-content-digest"] == each["digest"]
    printed = capsys.readouterr().out
    assert "prom/prometheus:v" in printed
    assert main(copies) == 0
    assert not capsys.readouterr().out  # nothing has changed since


def test_nothing_is_written_if_an_image_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, unknown = tmp_path / "docker-compose.yml", tmp_path / "Dockerfile"
    known.write_text("    image: prom/prometheus:v3.5.0\n")
    unknown.write_text("ARG PYTHON=python:2.0\n")

    assert main([known, unknown]) == 1

    assert "python:2.0: " in capsys.readouterr().out
    assert known.read_text() == "    image: prom/prometheus:v3.5.0\n"
    with pytest.raises(UnknownImageError):
        pinned(unknown.read_text())
