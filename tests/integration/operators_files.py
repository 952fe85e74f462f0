"""The dashboard and the alerts that operators get, and what they ask of the metrics."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "docs" / "observability"
DASHBOARD = FOLDER / "grafana" / "heddle-dashboard.json"
SELECTOR = re.compile(r"(?<![\w:{$.])([a-z]+_[a-z0-9_]+)(?![\w(:])\s*(\{[^}]*\})?")
"""A metric with its matchers. Functions and recorded series are none."""
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
GROUPING = re.compile(r"\bby \(([^)]*)\)")
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
OF_PROMETHEUS = {"instance", "job"}


def rules() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]:
        yield from group["rules"]


def targets() -> Iterator[tuple[str, dict[str, str]]]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target


def expressions() -> dict[str, str]:
    """Return all expressions by the rule or the panel that they belong to."""
    named = {rule.get("alert") or rule["record"]: rule["expr"] for rule in rules()}
    for name, target in targets():
        named[name] = target["expr"].replace("$__rate_interval", "5m")
    return named


def missing(labels: Mapping[str, set[str]], expression: str, legend: str = "") -> set[str]:
    """Return the metrics and labels of an expression that a scrape does not have.

    Args:
        labels: The labels of each metric of the scrape.
        expression: The expression.
        legend: The text that shows labels of its result.
    """
    grouped = {label.strip() for each in GROUPING.findall(expression) for label in each.split(",")}
    metrics = SELECTOR.findall(GROUPING.sub("", expression))
    known = set().union(OF_PROMETHEUS, *(labels.get(name, set()) for name, _ in metrics))
    used = grouped | set(LEGEND.findall(legend))
    for _, matchers in metrics:
        used |= set(MATCHER.findall(matchers))
    return {name for name, _ in metrics if name not in labels} | (used - known)


def legends() -> dict[str, str]:
    """Return the texts that show labels, by the panel that they belong to."""
    return {name: target["legendFormat"] for name, target in targets()}


def promtool(*arguments: str, text: str = "") -> str:
    """Run promtool, which must succeed, and return what it prints."""
    done = subprocess.run(  # noqa: S603 - Debian's program
        ["promtool", *arguments],  # noqa: S607 - Debian's program
        capture_output=True,
        check=False,
        cwd=FOLDER,
        input=text,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
