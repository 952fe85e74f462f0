"""Draws mutants of all members and tells which of them the tests find."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants.calls import FOLDER, MEMBERS, ROOT
from mutants.planting import Fault, fault, functions

_CALLS = ROOT / ".heddle" / "mutants"
_SELECTION = "not alone and not exhaustive and not chaos"
_AT_MOST = 250
"""How many tests run for one mutant: first those that call few functions."""
_SECONDS = 300.0
Calls = dict[tuple[str, int], list[str]]


def main() -> None:
    """Record the calls of the tests if they are not yet recorded, and try the mutants."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tried at a time")
    parser.add_argument("--tests", default=_SELECTION, help="the marks of the tests that run")
    options = parser.parse_args()
    if not _CALLS.is_dir():
        _record(options.tests)
    calls = _calls()
    drawn = list(_drawn(random.Random(options.seed), options.count))  # noqa: S311 - no secret
    found = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        finders = pool.map(lambda each: _finder(each, calls), drawn)
        for mutant, finder in zip(drawn, finders, strict=True):
            found += finder is not None
            place = mutant.file.relative_to(ROOT).parent
            print(f"{'found' if finder else 'MISSED'} {place}/{mutant.title}", flush=True)
    print(f"{found} of {len(drawn)} mutants found")


def _record(marks: str) -> None:
    """Run the tests and record which functions each one calls."""
    _CALLS.mkdir(parents=True)
    variables = {FOLDER: str(_CALLS)}
    command = ["-m", "pytest", "-q", "-p", "mutants.recording", "-m", marks, "--ignore=tests/chaos"]
    command += ["--forks=4", "--timeout=600"]
    subprocess.run([sys.executable, *command], cwd=ROOT, env=os.environ | variables, check=False)  # noqa: S603


def _calls() -> Calls:
    """Return the tests that call each function, those first that call the fewest functions."""
    by_test: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for record in _CALLS.glob("*.calls"):
        for line in record.read_text().splitlines():
            test, file, number = line.split("\t")
            by_test[test].add((file, int(number)))
    calls: Calls = defaultdict(list)
    for test in sorted(by_test, key=lambda each: len(by_test[each])):
        for function in by_test[test]:
            calls[function].append(test)
    return calls


def _drawn(draw: random.Random, count: int) -> Iterator[Fault]:
    """Yield mutants, as many of each member as it has functions among all."""
    everything = [
        (file, function, line)
        for name in sorted(MEMBERS)
        for file in sorted(MEMBERS[name].rglob("*.py"))
        for function, line in functions(file)
    ]
    draw.shuffle(everything)
    for file, function, line in everything:
        if drawn := fault(file, function, line, draw):
            yield drawn
            count -= 1
            if not count:
                return


def _finder(mutant: Fault, calls: Calls) -> str | None:
    """Return what finds a mutant: the output of the tests, or None if they pass."""
    tests = calls.get((str(mutant.file), mutant.first_line), [])[:_AT_MOST]
    if not tests:
        return None
    with tempfile.TemporaryDirectory() as folder:
        _plant(mutant, Path(folder))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        variables = {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ended = subprocess.run(  # noqa: S603
                command,
                cwd=ROOT,
                env=os.environ | variables,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "The tests do not end."
    if ended.returncode not in {0, 1, 2}:  # 2: a module cannot be imported
        raise RuntimeError(f"The tests of {mutant.title} did not run: {ended.stdout.decode()}")
    return ended.stdout.decode() if ended.returncode else None


def _plant(mutant: Fault, folder: Path) -> None:
    """Lay out the package with a mutant: links, and one file of its own."""
    package = next(path for path in MEMBERS.values() if mutant.file.is_relative_to(path))
    shutil.copytree(package, folder / package.name, copy_function=os.symlink)
    planted = folder / package.name / mutant.file.relative_to(package)
    for compiled in (planted.parent / "__pycache__").glob(f"{planted.stem}.cpython*"):
        compiled.unlink()
    planted.unlink()
    planted.write_text(mutant.planted())


if __name__ == "__main__":
    main()
