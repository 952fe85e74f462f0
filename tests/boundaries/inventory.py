"""Finds the limits of the product: constants whose names say that they are one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_NAME = re.compile(r"(?:^|_)(?:MAX|LARGEST|MOST|LONGEST|FEWEST|DEAREST)(?:_|$)")
_ROOTS = ("services", "gateway", "tools-service", "migration-service")


def limits() -> Iterator[str]:
    """Yield the limits as `module.NAME`."""
    for root in _ROOTS:
        for path in sorted((REPOSITORY / root).glob("**/src/**/*.py")):
            module = ".".join(path.relative_to(_source(path)).with_suffix("").parts)
            for name in _names(ast.parse(path.read_text())):
                yield f"{module}.{name}"


def _source(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.name == "src")


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for each in ast.walk(target):
                if isinstance(each, ast.Name) and _NAME.search(each.id):
                    yield each.id
