"""The register of the tests that do not run before two replicas."""

from gateway.one_process import FOLDER, REASONS, functions_of, named, one_process_tests

AT_MOST = 144
"""It may only fall."""


def test_the_register_names_tests_that_exist() -> None:
    files = {path.name for path in FOLDER.glob("test_*.py")}
    assert one_process_tests() <= {name for file in files for name in functions_of(file)}


def test_tests_of_one_process_become_fewer() -> None:
    for reason in REASONS.values():
        assert reason["reason"]
        assert len(named(reason["tests"])) == reason["count"], reason["reason"]
    assert len(one_process_tests()) <= AT_MOST
