"""`make graph`: prints the import graph of each package, and fails if a limit is exceeded.

A *unit* is a module or a package directly in the root of a package. The *levels* of a package are
the units on its longest chain of imports; units that import each other count as one.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
SOURCES = ("gateway/src/*", "tools-service/src/*", "migration-service/src/*", "services/*/src/*")
Graph = Mapping[str, AbstractSet[str]]

GATEWAY, TOOLS = "heddle_gateway", "heddle_tools_service"
MAX_GATEWAY_UNITS = 15
MAX_GATEWAY_LEVELS = 10
MAX_TOOLS_LINES = 18_500
MAX_PRODUCT_LINES = 118_000


@dataclass(frozen=True, slots=True)
class Package:
    """What is measured of a package."""

    name: str
    modules: int
    lines: int
    units: int
    levels: int
    cycles: Sequence[Sequence[str]]


def main() -> int:
    """Print the table and the problems, and return the exit code."""
    packages = [measure(folder) for folder in package_folders()]
    total = sum(package.lines for package in packages)
    sys.stdout.write(table(packages, total))
    problems = list(limits(packages, total))
    for problem in problems:
        sys.stdout.write(f"problem: {problem}\n")
    return 1 if problems else 0


def table(packages: Sequence[Package], total: int) -> str:
    """Return the measurements as text."""
    lines = [f"{'package':28}{'modules':>8}{'lines':>8}{'units':>7}{'levels':>7}{'cycles':>7}"]
    for package in packages:
        numbers = f"{package.units:7}{package.levels:7}{len(package.cycles):7}"
        lines.append(f"{package.name:28}{package.modules:8}{package.lines:8}{numbers}")
    modules = sum(package.modules for package in packages)
    return "\n".join([*lines, f"{'total':28}{modules:8}{total:8}", ""])


def limits(packages: Sequence[Package], total: int) -> Iterator[str]:
    """Yield a description of each problem."""
    by_name = {package.name: package for package in packages}
    gateway, tools = by_name[GATEWAY], by_name[TOOLS]
    for package in packages:
        for cycle in package.cycles:
            yield f"modules import each other: {', '.join(cycle)}"
    if gateway.units > MAX_GATEWAY_UNITS:
        yield f"the gateway has {gateway.units} units, {MAX_GATEWAY_UNITS} at most"
    if gateway.levels > MAX_GATEWAY_LEVELS:
        yield f"the gateway has {gateway.levels} import levels, {MAX_GATEWAY_LEVELS} at most"
    if tools.lines >= MAX_TOOLS_LINES:
        yield f"{TOOLS} has {tools.lines} lines; the limit is {MAX_TOOLS_LINES}"
    if total >= MAX_PRODUCT_LINES:
        yield f"the product has {total} lines; the limit is {MAX_PRODUCT_LINES}"


def package_folders() -> list[Path]:
    """Return the folders of the product's packages."""
    folders = (folder for pattern in SOURCES for folder in sorted(ROOT.glob(pattern)))
    return [folder for folder in folders if (folder / "__init__.py").is_file()]


def measure(folder: Path) -> Package:
    """Measure a package."""
    graph = imports(folder.name)
    units = between_units(folder.name, graph)
    cycles = [sorted(each) for each in components(graph) if len(each) > 1]
    lines = sum(len(file.read_text().splitlines()) for file in folder.rglob("*.py"))
    return Package(folder.name, len(graph), lines, len(units), depth(units), sorted(cycles))


def imports(package: str) -> Graph:
    """Return the modules that each module of a package imports from it."""
    graph = grimp.build_graph(package)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def between_units(package: str, graph: Graph) -> Graph:
    """Return the units that each unit imports."""
    units: dict[str, set[str]] = {}
    for module, imported in graph.items():
        if module != package:
            names = {_unit(package, each) for each in imported if each != package}
            unit = _unit(package, module)
            units[unit] = units.get(unit, set()) | names - {unit}
    return units


def _unit(package: str, module: str) -> str:
    return module.removeprefix(f"{package}.").partition(".")[0]


def depth(graph: Graph) -> int:
    """Return the number of strongly connected components on the longest chain."""
    depths: dict[str, int] = {}
    for component in components(graph):  # each after those that it imports
        below = {imported for each in component for imported in graph[each]} - component
        level = 1 + max((depths[each] for each in below), default=0)
        depths |= dict.fromkeys(component, level)
    return max(depths.values(), default=0)


def components(graph: Graph) -> list[AbstractSet[str]]:
    """Return the strongly connected components, each after those that it imports (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    result: list[AbstractSet[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        stack.append(module)
        for imported in graph[module]:
            if imported not in numbers:
                visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in stack:
                lowest[module] = min(lowest[module], numbers[imported])
        if lowest[module] == numbers[module]:
            start = stack.index(module)
            result.append(frozenset(stack[start:]))
            del stack[start:]

    for module in sorted(graph):
        if module not in numbers:
            visit(module)
    return result


if __name__ == "__main__":
    sys.exit(main())
