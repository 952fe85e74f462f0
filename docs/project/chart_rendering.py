"""`python chart_rendering.py CHART VERSION [VALUES]`: prints the objects of a chart as JSON.

Runs in an environment of its own with helm-python-sdk and kubernetes-validate. Each object is
checked strictly against the schemas of a version of Kubernetes, and the chart by `helm lint`.
Problems are printed instead, and the exit code is 1.
"""

import json
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-not-found] # not in the environment of developers
import yaml
from helm_python import chart  # type: ignore[import-not-found] # likewise

_WARNING = 2  # of helm lint


def main(folder: str, version: str, values_file: str = "") -> int:
    """Print the objects or the problems, and return the exit code."""
    values = yaml.safe_load(Path(values_file).read_text()) if values_file else {}
    report = chart.lint(folder, values, strict=True, kube_version=f"v{version}")
    problems = [str(each) for each in report["messages"] if each["severity"] >= _WARNING]
    problems += report["errors"]
    objects: list[dict[str, Any]] = []
    if not problems:
        with chart.Chart.load(folder) as loaded:
            texts = loaded.render(values, name="heddle", namespace="university").values()
        objects = [each for text in texts for each in yaml.safe_load_all(text) if each]
        problems = [problem for each in objects if (problem := invalid(each, version))]
    sys.stdout.write(json.dumps(problems or objects))
    return 1 if problems else 0


def invalid(content: dict[str, Any], version: str) -> str:
    """Return what is wrong with an object, or nothing."""
    try:
        kubernetes_validate.validate(content, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{content['kind']} {content['metadata']['name']}: {error.message}"
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
