"""What the tests of `heddle doctor` share."""

from collections.abc import Iterator

from heddle_cli.doctor.findings import Finding


def results(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    """Return what was checked, and how it went. Each fault must have a remedy."""
    checked = list(findings)
    assert all(bool(each.remedy) == (each.result != "ok") for each in checked), checked
    return [(each.result, each.check) for each in checked]
