"""The tests of the gateway's suite that are about one process: see `one_process.toml`."""

import ast
import tomllib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
REASONS = tomllib.loads((FOLDER / "one_process.toml").read_text())
"""Reasons, each with its tests: whole files, or FILE::TEST."""


def functions_of(file: str) -> set[str]:
    """Return the names of the tests of a file, as FILE::TEST."""
    nodes = ast.walk(ast.parse((FOLDER / file).read_text()))
    functions = (each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{file}::{each.name}" for each in functions if each.name.startswith("test_")}


def named(entries: list[str]) -> set[str]:
    """Return all tests of entries of the register."""
    files = {each for each in entries if "::" not in each}
    return {name for file in files for name in functions_of(file)} | (set(entries) - files)


@cache
def one_process_tests() -> frozenset[str]:
    """Return all tests of the register."""
    return frozenset(name for reason in REASONS.values() for name in named(reason["tests"]))
