"""The compose file: that Compose accepts it, and that it keeps what it promises."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from containers.files import REQUIRED, SERVICES, command, service
from open_webui.profile import OPERATOR_KEY, TRUSTED_KEY, compose_environment, gateway_settings

from docs.project.compose import FILE, PACKAGES, completed
from docs.project.images import ROOT, read_compose
from docs.reference.settings import settings_by_package

TRUSTED = "HEDDLE_GATEWAY_TRUSTED_API_KEY"
DATABASE_FOLDER = re.compile(r"sqlite:///(/.+)/")


def compose(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Compose itself, which checks the file with its schema before it does anything."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
    return subprocess.run(  # noqa: S603 - our own arguments
        [command("docker-compose"), "--file", str(ROOT / "docker-compose.yml"), *arguments],
        capture_output=True,
        check=False,
        env=outside | environment,
        text=True,
        timeout=60,
    )


def test_compose_accepts_the_file_with_every_profile() -> None:
    ran = compose("--profile", "*", "config", "--format", "json", **REQUIRED)

    assert ran.stderr == ""
    assert ran.returncode == 0
    found = set(json.loads(ran.stdout)["services"])
    assert found == {*SERVICES, "postgres", "openwebui", "ollama", "prometheus", "grafana"}


def test_the_profiles_are_options() -> None:
    ran = compose("config", "--services", **REQUIRED)

    assert set(ran.stdout.split()) == set(SERVICES)


@pytest.mark.parametrize("missing", REQUIRED)
def test_compose_asks_for_each_secret_by_name(missing: str) -> None:
    ran = compose(
        "config", "--quiet", **{name: REQUIRED[name] for name in REQUIRED.keys() - {missing}}
    )

    assert ran.returncode != 0
    assert f"{missing} is missing a value: set it to" in ran.stderr


@pytest.mark.parametrize("name", read_compose()["services"])
def test_every_service_has_a_health_check_and_no_capabilities(name: str) -> None:
    found = service(name)

    assert found["healthcheck"]["test"][0] == "CMD"
    assert found["healthcheck"]["timeout"] == "5s"
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in found
    assert "network_mode" not in found


@pytest.mark.parametrize("name", [*SERVICES, "postgres", "prometheus", "grafana"])
def test_our_services_run_as_nobody_on_a_file_system_that_stays_as_it_is(name: str) -> None:
    found = service(name)

    user, group = found["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert found["read_only"] is True
    assert "/tmp" in found["tmpfs"]  # noqa: S108 - a mount of a container
    assert found["init"] is True


def test_only_the_gateway_can_be_reached_and_only_from_this_machine() -> None:
    services = read_compose()["services"]
    published = {name: found["ports"] for name, found in services.items() if "ports" in found}

    assert published == {
        "gateway": ["127.0.0.1:8080:8080"],
        "openwebui": ["127.0.0.1:3000:8080"],
        "grafana": ["127.0.0.1:3001:3000"],
    }
    assert read_compose()["networks"]["inside"] == {"internal": True}
    assert all("inside" in found["networks"] for found in services.values())


def test_prometheus_scrapes_each_service_and_mounts_files_that_exist() -> None:
    configuration = yaml.safe_load((ROOT / "docs/observability/prometheus.yml").read_text())
    [job] = configuration["scrape_configs"]
    [targets] = job["static_configs"]
    assert targets["targets"] == [f"{name}:9464" for name in SERVICES]
    mounted = [
        volume.partition(":")[0]
        for name in ("prometheus", "grafana")
        for volume in service(name)["volumes"]
        if volume.startswith("./docs")
    ]
    assert len(mounted) == 5
    assert all((ROOT / file).is_file() for file in mounted)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_until_those_it_calls_are_healthy(name: str) -> None:
    found = service(name)
    called = {
        value.partition(":")[0]
        for key, value in found["environment"].items()
        if key.endswith("_ADDRESS") and not value.startswith("0.0.0.0:")
    }
    depends = found.get("depends_on", {})
    if name == "assistants":  # it serves without the orchestrator, which waits for it
        called.remove("orchestrator")

    assert called == set(depends)
    assert all(condition == {"condition": "service_healthy"} for condition in depends.values())


@pytest.mark.parametrize("name", SERVICES)
def test_addresses_ports_and_health_checks_agree(name: str) -> None:
    found = service(name)
    listening = {value.rpartition(":")[2] for value in values(name) if value.startswith("0.0.0.0:")}
    (port,) = listening
    checked = found["healthcheck"]["test"][-1]

    assert found["build"]["args"]["HEALTH"] == checked
    assert re.fullmatch(rf"(?:http://)?127\.0\.0\.1:{port}(?:/status)?", checked)
    pattern = re.compile(rf"{name}:(\d+)")
    for other in SERVICES:
        for value in values(other):
            if match := pattern.fullmatch(value):
                assert match[1] == port


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_a_setting_of_the_service(name: str) -> None:
    found = service(name)
    ran = subprocess.run(  # noqa: S603 - our own interpreter and modules
        [sys.executable, "-m", found["build"]["args"]["MODULE"], "--help"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    known = set(re.findall(r"^  (HEDDLE_\w+)", ran.stdout, re.MULTILINE))

    assert set(found["environment"]) <= known


@pytest.mark.parametrize("name", SERVICES)
def test_the_image_is_that_of_the_member_of_the_same_name(name: str) -> None:
    arguments: dict[str, Any] = service(name)["build"]["args"]

    assert arguments["MEMBER"] == f"heddle-{name}"
    assert arguments["MODULE"] == arguments["MEMBER"].replace("-", "_")


CERTIFICATES = "/etc/heddle/tls"
"""Operators name the files in it with HEDDLE_TLS_CERTIFICATE, HEDDLE_TLS_KEY and HEDDLE_TLS_CA."""


def test_what_is_kept_lies_in_volumes_and_what_is_given_is_read_only() -> None:
    written = []
    for name in SERVICES:
        folders = {value for value in values(name) if value.startswith("/")}
        folders |= {found for value in values(name) for found in DATABASE_FOLDER.findall(value)}
        mounts = [mount.split(":") for mount in service(name).get("volumes", [])]

        places = {mount[1] for mount in mounts}
        # A folder may lie in a volume that another one has.
        assert places <= {*folders, CERTIFICATES}
        assert all({folder, str(Path(folder).parent)} & places for folder in folders)
        for source, _, *rights in mounts:
            assert source.startswith("./") == (rights == ["ro"])
            written += [source] * (rights != ["ro"])
    assert sorted(written) == ["knowledge", "pictures", "sqlite", "workspaces"]


def values(name: str) -> list[str]:
    """Return the values that the file itself gives to variables of a service."""
    return [value for value in service(name)["environment"].values() if value is not None]


def test_every_setting_reaches_its_container() -> None:
    variables = {name for names in settings_by_package().values() for name in names}
    ran = compose("config", "--format", "json", **(dict.fromkeys(variables, "x") | REQUIRED))

    services = json.loads(ran.stdout)["services"]
    missing = {
        (name, variable)
        for name, package in PACKAGES.items()
        for variable in settings_by_package()[package]
        if variable not in services[name]["environment"]
    }
    assert missing == set()


def test_users_of_open_webui_act_as_themselves_and_their_chats_get_titles() -> None:
    webui = compose_environment("openwebui")

    assert webui["OPENAI_API_KEY"] == TRUSTED_KEY == gateway_settings()[TRUSTED]
    assert OPERATOR_KEY not in webui.values()
    assert webui["ENABLE_FORWARD_USER_INFO_HEADERS"] == "true"
    assert webui["BYPASS_MODEL_ACCESS_CONTROL"] == "true"
    assert webui["ENABLE_TITLE_GENERATION"] == "true"


@pytest.mark.parametrize("key", ["", TRUSTED_KEY])
def test_open_webui_starts_with_a_key_of_its_own_only(tmp_path: Path, key: str) -> None:
    (tmp_path / "start.sh").write_text("echo started")
    words = [word.replace("$$", "$") for word in service("openwebui")["command"]]
    ran = subprocess.run(  # noqa: S603 - the command of the compose file
        [command(words[0]), *words[1:]],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "OPENAI_API_KEY": key},
        text=True,
        timeout=60,
    )

    assert (ran.returncode, ran.stdout) == ((0, "started\n") if key else (1, ""))
    assert key or TRUSTED in ran.stderr


def test_a_setting_that_the_file_does_not_list_is_added_where_it_belongs() -> None:
    text = FILE.read_text()
    without = text.replace("      HEDDLE_TOOLS_TOOL_TIMEOUT:\n", "")
    assert completed(text) == text
    assert completed(without) == text != without
