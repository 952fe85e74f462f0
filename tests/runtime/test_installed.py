"""`heddle_runtime.serving.installed`."""

from pathlib import Path

import pytest
from heddle_runtime.serving.installed import installed
from structlog.testing import capture_logs


def test_a_package_that_does_not_load_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("broken", "no_such_module:x"), ("working", "string:digits")):
        folder = tmp_path / f"{name}_package-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1")
        (folder / "entry_points.txt").write_text(f"[heddle.trial]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with capture_logs() as lines:
        loaded = dict(installed("heddle.trial"))

    assert loaded == {"working": "0123456789"}
    (line,) = lines
    assert line["origin"] == "package:broken-package, broken"
    assert "no_such_module" in line["problem"]
