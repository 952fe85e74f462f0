"""The dashboard and the alerts name metrics and labels of a running Heddle."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.scraped import requests_of_all_kinds, scraped
from patience import until
from runtime.ports import free_port

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


def test_metrics_and_labels_that_a_scrape_lacks_are_noticed() -> None:
    labels = {"a_total": {"x"}, "a_bucket": {"le", "x"}}
    assert missing(labels, "sum by (x) (rate(a_total[5m]))", "{{x}}") == set()
    assert missing(labels, "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))") == set()
    assert missing(labels, "sum by (y) (rate(a_total[5m]))") == {"y"}
    assert missing(labels, 'rate(a_total{z!=""}[5m]) / b_total') == {"z", "b_total"}
    assert missing(labels, "rate(a_total[5m])", "{{z}} {{instance}}") == {"z"}
    assert missing(labels, "heddle:a_total:rate5m > 1") == set()


async def test_every_metric_and_label_of_rules_and_panels_is_in_a_scrape(tmp_path: Path) -> None:
    away = {
        "HEDDLE_TRACES_SAMPLE": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    async with scraped(tmp_path, **away) as running:
        await requests_of_all_kinds(running)
        await until(lambda: running.samples().value("heddle_telemetry_dropped_total"))
        labels = running.samples().labels
    named = expressions()
    legends = {name: target["legendFormat"] for name, target in targets()}
    assert {name: missing(labels, each, legends.get(name, "")) for name, each in named.items()} == {
        name: set() for name in named
    }


def test_the_dashboard_has_a_panel_for_each_question() -> None:
    titles = [panel["title"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert titles == [
        *("Requests", "Errors", "Whole answers", "First token", "Requests to models", "Tokens"),
        *("Runs of tools", "Failures of tools", "Calls between services", "Saturation"),
        *("Decisions of the agent", "CPU"),
    ]


def test_the_page_explains_each_alert() -> None:
    page = (FOLDER.parent / "observability.md").read_text()
    assert [rule["alert"] for rule in rules() if "alert" in rule] == re.findall(
        r"^\| `(Heddle\w+)`", page, re.MULTILINE
    )


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


@pytest.mark.exhaustive
def test_prometheus_accepts_the_rules_and_their_tests_pass() -> None:
    assert "10 rules found" in promtool("check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")


@pytest.mark.exhaustive
def test_prometheus_accepts_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [
        {"record": f"panel:{number}", "expr": target["expr"].replace("$__rate_interval", "5m")}
        for number, (_, target) in enumerate(targets())
    ]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}))
    assert f"{len(recorded)} rules found" in promtool("check", "rules", str(file))


@pytest.mark.exhaustive
async def test_prometheus_accepts_a_scrape_and_has_no_complaints_about_its_names(
    tmp_path: Path,
) -> None:
    async with scraped(tmp_path) as running:
        await requests_of_all_kinds(running)
        text = running.text()
    assert promtool("check", "metrics", text=text) == ""
