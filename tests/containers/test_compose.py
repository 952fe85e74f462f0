"""The compose file: that Compose accepts it, and that it keeps what it promises."""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from containers.files import REQUIRED, SERVICES, command, compose, service
from open_webui.profile import OPERATOR_KEY, TRUSTED_KEY, compose_environment, gateway_settings

from docs.project.compose import ALL_IN_ONE, OF_TRACES, settings_of
from docs.project.compose import environment_files as written_files
from docs.project.images import ROOT, read_compose
from docs.reference.settings import settings, settings_by_package

COMPOSE = read_compose()
environment_files = cache(written_files)
TRUSTED = "HEDDLE_GATEWAY_TRUSTED_API_KEY"
OURS = (*SERVICES, "heddle", "all-in-one")
WATCHING = ("prometheus", "grafana")
REQUIRED_FILES = {f"{name}_FILE" for name in REQUIRED}
PINNED = re.compile(r"@sha256:[0-9a-f]{64}\b")
DATABASE_FOLDER = re.compile(r"sqlite:///(/.+)/")


def test_compose_accepts_the_file_with_every_profile() -> None:
    ran = compose("--profile", "*", "config", "--format", "json")

    assert ran.stderr == ""
    assert ran.returncode == 0
    content = set(json.loads(ran.stdout)["services"])
    assert content == {
        *SERVICES,
        "heddle",
        "all-in-one",
        "postgres",
        "openwebui",
        "grpc-ports",
        "ollama",
        *WATCHING,
    }


def test_compose_accepts_the_file_with_postgres() -> None:
    override = str(ROOT / "docs/containers/postgres.yml")
    ran = compose("--file", override, "--profile", "postgres", "config", "--format", "json")

    assert ran.stderr == ""
    assert ran.returncode == 0
    services = json.loads(ran.stdout)["services"]
    assistants = services["assistants"]
    assert assistants["environment"]["HEDDLE_ASSISTANTS_DATABASE"] == ""
    for name in ("assistants", "knowledge", "postgres"):
        assert secrets_read(services[name]["environment"]) <= secrets_mounted(services[name])
    assert "pgvector" in services["postgres"]["image"]


def test_compose_refuses_what_its_schema_does_not_know(tmp_path: Path) -> None:
    override = tmp_path / "more.yml"
    override.write_text("services: {gateway: {read_onyl: true}}")
    ran = compose("--file", str(override), "config", "--quiet")

    assert ran.returncode != 0
    assert "read_onyl" in ran.stderr


def test_the_profiles_are_options() -> None:
    ran = compose("config", "--services")

    assert set(ran.stdout.split()) == set(SERVICES)


def secrets_read(environment: dict[str, str | None]) -> set[str]:
    """Return the files of secrets that variables name."""
    return {
        value
        for name, value in environment.items()
        if name.endswith("_FILE") and value is not None and value.startswith("/")
    }


def secrets_mounted(service: dict[str, Any]) -> set[str]:
    """Return the files of secrets in a container."""
    names = (each if isinstance(each, str) else each["source"] for each in service["secrets"])
    return {f"/run/secrets/{name}" for name in names}


@pytest.mark.parametrize("name", [*OURS, "postgres"])
def test_secrets_are_files_that_only_the_services_which_read_them_have(name: str) -> None:
    content = service(name)

    assert secrets_read(content["environment"]) == secrets_mounted(content)
    for secret in content["secrets"]:
        file = COMPOSE["secrets"][secret]["file"]
        assert file == f"${{HEDDLE_SECRETS_DIR:-./secrets}}/{secret}"
    # A value beside the file is an error at start.
    both = {variable for variable in content["environment"] if f"{variable}_FILE" in REQUIRED_FILES}
    assert both == set()


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_logs_of_containers_are_rotated_and_images_are_pinned(name: str) -> None:
    content = service(name)

    assert content["logging"]["driver"] == "json-file"
    assert set(content["logging"]["options"]) == {"max-size", "max-file"}
    # The digests of these versions are still to be added; see docs/containers.md.
    if "image" in content and name not in {"openwebui", "grpc-ports", *WATCHING}:
        assert PINNED.search(content["image"])


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_every_service_has_a_health_check_and_no_capabilities(name: str) -> None:
    content = service(name)

    if name != "heddle":  # it runs one command and ends
        assert content["healthcheck"]["test"][0] == "CMD"
        assert content["healthcheck"]["timeout"] == "5s"
    assert content["cap_drop"] == ["ALL"]
    assert content["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in content
    assert "network_mode" not in content


@pytest.mark.parametrize("name", [*OURS, "postgres", "grpc-ports", *WATCHING])
def test_our_services_run_as_nobody_on_a_file_system_that_stays_as_it_is(name: str) -> None:
    content = service(name)

    user, group = content["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert content["read_only"] is True
    assert content["tmpfs"][0].startswith("/tmp:size=1g,")  # noqa: S108 - a mount of a container
    assert content["pids_limit"] == 512
    assert content["mem_limit"] == "${HEDDLE_MEMORY_LIMIT:-4g}"
    assert content["init"] is True


def test_services_can_be_reached_only_from_this_machine() -> None:
    services = COMPOSE["services"]
    published = {name: content["ports"] for name, content in services.items() if "ports" in content}

    assert published == {
        "gateway": ["127.0.0.1:8080:8080"],
        "all-in-one": ["127.0.0.1:8080:8080"],
        "openwebui": ["127.0.0.1:3000:8080"],
        "grpc-ports": ["127.0.0.1:9101-9106:9101-9106"],
        "grafana": ["127.0.0.1:3001:3000"],
    }
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert all("inside" in content["networks"] for content in services.values())


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
    content = service(name)
    called = {
        value.partition(":")[0]
        for key, value in content["environment"].items()
        if key.endswith("_ADDRESS") and not value.startswith("0.0.0.0:")
    }
    depends = content.get("depends_on", {})
    if name == "assistants":  # it serves without those, which wait for it
        called -= {"connector", "knowledge", "orchestrator"}

    assert called == set(depends)
    assert all(condition == {"condition": "service_healthy"} for condition in depends.values())


@pytest.mark.parametrize("name", SERVICES)
def test_addresses_ports_and_health_checks_agree(name: str) -> None:
    content = service(name)
    port = port_of(name)
    checked = content["healthcheck"]["test"][-1]

    assert content["build"]["args"]["HEALTH"] == checked
    assert re.fullmatch(rf"(?:http://)?127\.0\.0\.1:{port}(?:/status)?", checked)
    pattern = re.compile(rf"{name}:(\d+)")
    for other in SERVICES:
        for value in values(other):
            if match := pattern.fullmatch(value):
                assert match[1] == port


def test_the_container_for_everything_has_one_volume_and_no_other_service() -> None:
    content = service("all-in-one")
    written = [mount for mount in content["volumes"] if not mount.endswith(":ro")]

    assert written == ["all:/var/lib/heddle"]
    assert "depends_on" not in content
    assert content["build"]["args"]["MEMBER"] == "heddle-devstack"


def test_operators_have_their_command_with_the_addresses_of_all_services() -> None:
    content = service("heddle")
    addresses = {key for key in content["environment"] if key.endswith("_ADDRESS")}

    assert content["entrypoint"] == ["heddle"]
    assert content["build"] == service("gateway")["build"]
    assert len(addresses) == len(SERVICES) - 1
    for name in addresses:
        assert content["environment"][name] == service("gateway")["environment"][name]


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_a_setting_of_the_service(name: str) -> None:
    content = service(name)
    known = set(settings_of(name)) | set(OF_TRACES)

    assert set(content["environment"]) <= known | {f"{setting}_FILE" for setting in known}


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
        folders -= secrets_mounted(service(name))
        folders |= {content for value in values(name) for content in DATABASE_FOLDER.findall(value)}
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


@cache
def services_with_every_setting() -> Any:
    """Return the services that Compose would start if the operator had every setting."""
    variables = {name for names in settings_by_package().values() for name in names}
    ran = compose("--profile", "*", "config", "--format", "json", **dict.fromkeys(variables, "x"))
    return json.loads(ran.stdout)["services"]


@pytest.mark.parametrize("name", [*SERVICES, "all-in-one"])
def test_every_setting_reaches_its_container(name: str) -> None:
    environment = services_with_every_setting()[name]["environment"]
    in_files = {variable.removesuffix("_FILE") for variable in REQUIRED_FILES & environment.keys()}
    missing = set(settings_of(name)) - environment.keys() - in_files
    # The services of containers share no folder with a generated secret.
    assert missing == {"HEDDLE_LOCAL_SECRET_FILE"}


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


def test_the_profile_for_grpcurl_passes_connections_on_to_every_port(tmp_path: Path) -> None:
    """`sh` runs the real command with a `socat` that writes down its arguments."""
    content = service("grpc-ports")
    words: list[str] = [*content["entrypoint"], *content["command"]]
    (tmp_path / "socat").write_text('#!/bin/sh\necho "$1 $2"\n')
    (tmp_path / "socat").chmod(0o755)
    ran = subprocess.run(  # noqa: S603 - the command of the compose file
        [command(words[0]), *(word.replace("$$", "$") for word in words[1:])],
        capture_output=True,
        check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        text=True,
        timeout=60,
    )

    listening = {name: port_of(name) for name in SERVICES if name != "gateway"}
    assert sorted(ran.stdout.splitlines()) == sorted(
        f"TCP-LISTEN:{port},fork,reuseaddr TCP:{name}:{port}" for name, port in listening.items()
    )


def port_of(name: str) -> str:
    """Return the port that a service listens on."""
    (port,) = {each.rpartition(":")[2] for each in values(name) if each.startswith("0.0.0.0:")}
    return port


@cache
def secret_variables() -> set[str]:
    """Return the variables that hold a secret or name its file, by the settings classes."""
    variables = {each.variable for each in settings()}
    secrets = {each for each in variables if f"{each}_FILE" in variables}
    return secrets | {f"{each}_FILE" for each in secrets}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_receives_no_secret_that_it_does_not_read(name: str) -> None:
    received = secret_variables() & services_with_every_setting()[name]["environment"].keys()

    assert "HEDDLE_CONNECTOR_OPENAI_API_KEY" in secret_variables()
    assert received <= set(settings_of(name))


@pytest.mark.parametrize("name", [*SERVICES, ALL_IN_ONE])
def test_each_service_has_a_file_with_the_names_of_its_settings(name: str) -> None:
    files = {file.name: (file, text) for file, text in environment_files().items()}
    file, text = files[f"{name}.env"]

    assert (ROOT / service(name)["env_file"]) == file
    assert file.read_text() == text
