"""The dashboard and the alerts name metrics and labels of a running Heddle."""

import json
import re
from pathlib import Path

import pytest
import yaml
from integration.operators_files import DASHBOARD, FOLDER, missing, promtool, rules, targets


def test_metrics_and_labels_that_a_scrape_lacks_are_noticed() -> None:
    labels = {"a_total": {"x"}, "a_bucket": {"le", "x"}}
    assert missing(labels, "sum by (x) (rate(a_total[5m]))", "{{x}}") == set()
    assert missing(labels, "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))") == set()
    assert missing(labels, "sum by (y) (rate(a_total[5m]))") == {"y"}
    assert missing(labels, 'rate(a_total{z!=""}[5m]) / b_total') == {"z", "b_total"}
    assert missing(labels, "rate(a_total[5m])", "{{z}} {{instance}}") == {"z"}
    assert missing(labels, "heddle:a_total:rate5m > 1") == set()


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
