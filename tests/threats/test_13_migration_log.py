"""Threat 13: the log of a migration holds metadata, owners or secrets."""

import hashlib
import json
import logging
import subprocess
import sys

import pytest
from assistants.serving import ADA, Service
from assistants.stored import keep, kept
from heddle_assistants.repository.journal import described, pseudonym
from heddle_runtime.storage.database.engine import Database

SECRETS = {
    "api_key": "sk-abcdefghijklmnop0123456789",
    "note": "ask ada@uni.example, the password is hunter2",
    "nested": {"deep": ["s3cret-value"]},
    "sk-abcdefghijklmnop0123456789": 1,
}
FIELDS = {
    "assistant_id",
    "assistant_name",
    "owner",
    "old_metadata",
    "new_metadata",
    "from_version",
    "to_version",
}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def migrations(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if each.name == "lamb.migration"]


async def test_a_migration_is_logged_with_its_seven_members(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lamb.migration")
    old = json.dumps({"rag_processor": "no_rag", "llm": "m"})
    number = await keep(database, metadata=old)
    await service.as_(ADA).get(number)
    await service.as_(ADA).get(number)
    [record] = migrations(caplog)

    assert record.levelname == "INFO"
    assert record.getMessage() == f"Migrated assistant {number} from v1 to v2"
    members = {key: record.__dict__[key] for key in FIELDS}
    assert members == {
        "assistant_id": int(number),
        "assistant_name": "1_tutor",
        "owner": pseudonym(ADA.subject),
        "old_metadata": {"members": "rag_processor, llm", "sha256": digest(old)},
        "new_metadata": {
            "members": "llm, tools, template_syntax, _format_version",
            "sha256": digest((await kept(database, number)).metadata),
        },
        "from_version": 1,
        "to_version": 2,
    }


async def test_nothing_about_people_and_no_secret_is_logged(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    number = await keep(database, metadata=json.dumps(SECRETS), name="by ada@uni.example")
    await service.as_(ADA).get(number)
    [record] = migrations(caplog)
    line = repr(record.__dict__)
    for secret in ("sk-abc", "ada@uni", "hunter2", "s3cret", "uni.example"):
        assert secret not in line


async def test_what_is_not_migrated_is_not_logged(
    service: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lamb.migration")
    number = await keep(database, metadata="not-json{")
    assert (await service.as_(ADA).get(number)).HasField("malformed_metadata")
    await service.as_(ADA).create("new")
    await service.as_(ADA).get("new")
    assert migrations(caplog) == []


def test_an_owner_has_one_pseudonym_and_no_other_owner_has_it() -> None:
    assert pseudonym("olga") == pseudonym("olga") != pseudonym("bob")
    assert "olga" not in pseudonym("olga")  # "ada" may be in it: it is hexadecimal


def test_a_large_document_makes_a_small_line() -> None:
    document = {f"{number}" * 1000: "x" * 1000 for number in range(1000)}
    line = described(json.dumps(document), document)
    assert len(repr(line)) < 5_000


PROGRAM = """
import logging
from heddle_runtime.telemetry import logs

logs.configure("migration", "INFO")
logging.getLogger("lamb.migration").info("Migrated", extra={"assistant_id": 7, "owner": "x"})
"""


def test_the_members_are_in_the_line_that_the_service_prints() -> None:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=30
    )
    line = json.loads(done.stderr)
    assert line["logger"] == "lamb.migration"
    assert (line["assistant_id"], line["owner"]) == (7, "x")
