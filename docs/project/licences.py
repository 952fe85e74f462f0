"""Checks the licence of every locked package: `python -m docs.project.licences`.

The licence comes from the metadata of the installed package. licences.toml lists the licences that
are allowed, and the packages whose metadata is missing or names another one, each with a reason.
"""

import re
import sys
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
POLICY = Path(__file__).with_name("licences.toml")
_OPERATORS = re.compile(r"\s+(AND|OR|WITH)\s+|[()]")


def main() -> None:
    """Print each package whose licence is not allowed, and fail if there is one."""
    policy = tomllib.loads(POLICY.read_text())
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    problems, packages = check(policy, lock, installed())
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.stdout.write(f"{packages} locked packages, {len(problems)} problems\n")
    sys.exit(bool(problems))


def installed() -> dict[str, str]:
    """Return the licence that each installed package states."""
    return {_normal(each.metadata["Name"]): stated(each) for each in distributions()}


def stated(package: Distribution) -> str:
    """Return the licence in the metadata of `package`, or an empty text."""
    metadata = package.metadata
    if expression := metadata.get_all("License-Expression"):
        return str(expression[0])
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or []
        if each.startswith("License :: ") and not each.endswith(("Approved", "approved"))
    ]
    return (
        " AND ".join(classifiers) or (metadata.get_all("License") or [""])[0].split("\n")[0].strip()
    )


def check(
    policy: dict[str, Any], lock: dict[str, Any], licences: dict[str, str]
) -> tuple[list[str], int]:
    """Return a sentence for each locked package that breaks `policy`, and their number."""
    product = _product(lock)
    members = set(lock["manifest"]["members"])
    names = {package["name"] for package in lock["package"]} - members
    problems = [
        f"{name}: {problem}"
        for name in sorted(names)
        if (problem := _problem(name, policy, licences, product=name in product))
    ]
    listed = {*policy["exceptions"], *policy["not_installed"], *policy["never_installed"]}
    unused = sorted(listed - names)
    return [*problems, *(f"{name}: listed, but not locked" for name in unused)], len(names)


def _problem(
    name: str, policy: dict[str, Any], licences: dict[str, str], *, product: bool
) -> str | None:
    exception = policy["exceptions"].get(name)
    licence = licences.get(name, policy["not_installed"].get(name))
    if licence is None:
        return None if name in policy["never_installed"] else "not installed and not listed"
    expression = _expression(licence, policy["spellings"])
    if exception and expression == exception["licence"]:
        if product and exception["scope"] != "product":
            return "a product dependency whose exception is for development only"
        return None
    terms = {
        part.strip()
        for part in _OPERATORS.split(expression)
        if part and part.strip() not in {"", "AND", "OR", "WITH"}
    }
    if terms and terms <= set(policy["allowed"]):
        return None
    return f"licence {licence!r} is not allowed"


def _expression(licence: str, spellings: dict[str, str]) -> str:
    if licence in spellings:
        return spellings[licence]
    return " AND ".join(spellings.get(part, part) for part in licence.split(" AND "))


def _product(lock: dict[str, Any]) -> set[str]:
    """Return the names of the packages that members or their extras need."""
    needs: dict[str, set[str]] = {}
    for package in lock["package"]:
        lists = [
            package.get("dependencies", []),
            *package.get("optional-dependencies", {}).values(),
        ]
        names = {dependency["name"] for each in lists for dependency in each}
        needs.setdefault(package["name"], set()).update(names)
    reached: set[str] = set()
    waiting = set(lock["manifest"]["members"])
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= needs.get(name, set()) - reached
    return reached


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
