"""Project files: licences, releases, hooks and issue templates."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from docs.project.licences import POLICY, check, installed

ROOT = Path(__file__).parents[2]
POLICY_TABLE = tomllib.loads(POLICY.read_text())


def projects(root: Path) -> list[dict[str, object]]:
    files = [
        root / "pyproject.toml",
        *root.glob("*/pyproject.toml"),
        *root.glob("*/*/pyproject.toml"),
    ]
    return [tomllib.loads(file.read_text())["project"] for file in files]


def test_every_locked_package_has_an_allowed_licence() -> None:
    problems, packages = check(
        POLICY_TABLE, tomllib.loads((ROOT / "uv.lock").read_text()), installed()
    )

    assert not problems
    assert packages > 200


@pytest.mark.parametrize(
    ("licence", "scope", "accepted"),
    [
        ("MIT", "product", True),
        ("Apache Software License AND MIT License", "product", True),
        ("GPL-3.0-only", "product", False),
        ("", "product", False),
        ("GPL-2.0-only", "development", False),
    ],
)
def test_a_licence_that_is_not_allowed_is_a_problem(
    licence: str, scope: str, *, accepted: bool
) -> None:
    needs = [{"name": "a"}] if scope == "product" else []
    lock = {
        "manifest": {"members": ["heddle"]},
        "package": [{"name": "heddle", "dependencies": needs}, {"name": "a"}],
    }
    policy = {**POLICY_TABLE, "exceptions": {}, "not_installed": {}, "never_installed": {}}

    problems, _ = check(policy, lock, {"a": licence})

    assert (not problems) is accepted


def test_an_exception_for_development_does_not_serve_the_product() -> None:
    exception = {"scope": "development", "licence": "GPL-2.0-only", "reason": "tests"}
    policy = {**POLICY_TABLE, "not_installed": {}, "exceptions": {"a": exception}}
    policy["never_installed"] = {}
    product = {"name": "heddle", "dependencies": [{"name": "a"}]}
    lock = {"manifest": {"members": ["heddle"]}, "package": [product, {"name": "a"}]}

    problems, _ = check(policy, lock, {"a": "GPL-2.0-only"})

    assert problems == ["a: a product dependency whose exception is for development only"]


def test_every_member_states_the_licence_and_the_same_version() -> None:
    members = projects(ROOT)

    assert len(members) > 8
    assert {project["license"] for project in members} == {"Apache-2.0"}
    assert len({project["version"] for project in members}) == 1
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:300]


def test_a_release_changes_versions_changelog_and_contracts_and_tags_them(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"GIT_{who}_NAME": "A" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
    }

    def run(*command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603 - fixed commands
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    def release(version: str) -> "subprocess.CompletedProcess[str]":
        return run(sys.executable, "-m", "docs.project.release", version, "--root", str(clone))

    assert run("git", "clone", "--quiet", "--no-tags", str(ROOT), str(clone)).returncode == 0

    assert "is not larger than" in release("0.0.1").stderr
    assert "is no version" in release("1.0").stderr
    released = release("99.0.0")

    assert released.returncode == 0, released.stderr
    assert {project["version"] for project in projects(clone)} == {"99.0.0"}
    lock = tomllib.loads((clone / "uv.lock").read_text())
    members = set(lock["manifest"]["members"])
    locked = {each["version"] for each in lock["package"] if each["name"] in members}
    assert locked == {"99.0.0"}
    changelog = (clone / "CHANGELOG.md").read_text()
    assert "## Unreleased\n\n## 99.0.0 (" in changelog
    git = ("git", "-C", str(clone))
    assert run(*git, "status", "--porcelain").stdout == ""
    assert run(*git, "cat-file", "-t", "v99.0.0").stdout == "tag\n"
    assert "no entry under Unreleased" in release("99.1.0").stderr
    (clone / "README.md").write_text("")
    assert "has changes" in release("99.1.0").stderr


def test_hooks_run_programs_of_the_project_only() -> None:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())

    assert [repository["repo"] for repository in configuration["repos"]] == ["local"]
    for hook in configuration["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        program, *arguments = hook["entry"].split()
        assert program.startswith(".venv/bin/")
        assert (Path(sys.executable).parent / Path(program).name).exists()
        if arguments[0] == "-m":
            assert (ROOT / arguments[1].replace(".", "/")).is_dir() or (
                ROOT / f"{arguments[1].replace('.', '/')}.py"
            ).is_file()


def test_issue_templates_are_forms() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))

    assert len(forms) == 4
    for form in forms:
        content = yaml.safe_load(form.read_text())
        if form.name != "config.yml":
            identifiers = [element["id"] for element in content["body"]]
            assert len(set(identifiers)) == len(identifiers) > 0, json.dumps(content)
            assert content["name"]
            assert content["description"]
