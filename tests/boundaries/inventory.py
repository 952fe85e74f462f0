"""Finds the limits of the product: constants whose names say that they are one.

A limit that something is compared with may refuse it, so its edges are tested by a row, or
`not_input.toml` says why it refuses nothing. One that only bounds a field of a model is tested with
all bounds of models. Others are arguments of slices and minima, which shorten something.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_NAME = re.compile(r"(?:^|_)(?:MAX|LARGEST|MOST|LONGEST|FEWEST|DEAREST)(?:_|$)")
_ANYWHERE = re.compile(r"MAX|LARGEST|MOST|LONGEST|FEWEST|DEAREST")
_ROOTS = ("services", "gateway", "tools-service", "migration-service")


def limits() -> Iterator[str]:
    """Yield the limits that something is compared with, as `module.NAME`."""
    yield from _in(_compared)


def constants() -> Iterator[str]:
    """Yield all constants that are named like limits, as `module.NAME`."""
    for module, tree in _modules().items():
        for name in _constants(tree):
            yield f"{module}.{name}"


def refusing() -> Iterator[str]:
    """Yield the limits that a comparison before a `raise` or a violation names."""
    yield from _in(_guards)


def _in(names: Callable[[ast.Module], Iterator[str]]) -> Iterator[str]:
    """Yield the limits whose names a function finds in the modules that can use them."""
    uses = {module: {*names(tree)} for module, tree in _modules().items()}
    imported = {f"{origin}.{name}" for origin, name in _imported_and_compared(uses)}
    for limit in constants():
        module, _, name = limit.rpartition(".")
        if name in uses[module] or limit in imported:
            yield limit


def _guards(tree: ast.Module) -> Iterator[str]:
    """Yield the names of limits in conditions of branches that refuse something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(map(_refuses, node.body)):
            yield from _named(node.test)


def _refuses(statement: ast.stmt) -> bool:
    """Return whether a statement of a branch refuses something."""
    called = (each.func for each in ast.walk(statement) if isinstance(each, ast.Call))
    violates = any(isinstance(each, ast.Name) and each.id == "Violation" for each in called)
    return violates or isinstance(statement, ast.Raise)


@cache
def _modules() -> dict[str, ast.Module]:
    """Return the modules of the product by their names."""
    modules = {}
    for root in _ROOTS:
        for path in sorted((REPOSITORY / root).glob("**/src/**/*.py")):
            source = next(parent for parent in path.parents if parent.name == "src")
            name = ".".join(path.relative_to(source).with_suffix("").parts)
            if _ANYWHERE.search(text := path.read_text()):
                modules[name.removesuffix(".__init__")] = ast.parse(text)
    return modules


def _imported_and_compared(uses: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the constants of other modules that a module compares something with."""
    for module, tree in _modules().items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                for name in uses[module]:
                    for each in node.names:  # the constant, or its module
                        origin = f"{node.module}.{each.name}"
                        yield (node.module or "", name) if each.name == name else (origin, name)


def _constants(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for each in ast.walk(target):
                if isinstance(each, ast.Name) and _NAME.search(each.id):
                    yield each.id


def _compared(tree: ast.Module) -> Iterator[str]:
    """Yield the names of limits in comparisons."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from _named(node)


def _named(expression: ast.expr) -> Iterator[str]:
    """Yield the names of limits in an expression."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if _NAME.search(name):
                yield name
