"""Checks prose and names against a baseline that may only fall: `python -m docs.prose`.

baseline.json holds how often each rule is broken in each area. More than that fails, with the
places; fewer can be stored with `--update`. `--list PATH…` shows all places in these files.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from docs.prose.names import names
from docs.prose.rules import Finding, prose
from docs.prose.texts import select

BASELINE = Path(__file__).with_name("baseline.json")
_SHOWN = 40


def main() -> None:
    """Compare the counts with the baseline."""
    parser = argparse.ArgumentParser("python -m docs.prose", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store counts that fell")
    parser.add_argument("--list", nargs="*", metavar="PATH", help="show the places in these files")
    arguments = parser.parse_args()
    select(arguments.list or [])
    findings = sorted([*prose(), *names()])
    if arguments.list is not None:
        _show(findings)
        return
    counts = Counter(each.key for each in findings)
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else dict(counts)
    risen = above(counts, baseline)
    for key in sorted(risen):
        places = [each for each in findings if each.key == key]
        sys.stdout.write(f"{key}: {counts[key]}, at most {baseline.get(key, 0)} are allowed\n")
        _show(places[:_SHOWN])
        sys.stdout.write(f"  … and {len(places) - _SHOWN} more\n" if places[_SHOWN:] else "")
    if arguments.update and not risen:
        BASELINE.write_text(json.dumps(dict(sorted(counts.items())), indent=2) + "\n")
    elif not risen and any(counts[key] < allowed for key, allowed in baseline.items()):
        sys.stdout.write("Fewer findings than the baseline: `python -m docs.prose --update`\n")
    sys.exit(bool(risen))


def above(counts: Counter[str], baseline: dict[str, int]) -> set[str]:
    """Return the areas and rules of `counts` with more findings than `baseline` allows."""
    return {key for key, count in counts.items() if count > baseline.get(key, 0)}


def _show(findings: list[Finding]) -> None:
    for each in findings:
        sys.stdout.write(f"  {each.file}:{each.line}: {each.rule}: {each.advice}\n")


if __name__ == "__main__":
    main()
