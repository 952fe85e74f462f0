"""Databases that cannot be used, told in one sentence that never holds the password."""

import re
import socket
from pathlib import Path

import pytest
from assistants.postgres import Postgres
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.failures import UnusableDatabaseError
from runtime.ports import free_port

SECRET = "s3cr/t"


async def refusal(url: str) -> str:
    """Return the sentence of the refusal, after looking for the secret in it and its causes."""
    with pytest.raises((UnusableDatabaseError, ValueError)) as caught:
        async with open_database(url):
            pass
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cr" not in str(error)
        error = error.__cause__ or error.__context__
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


async def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    port = free_port()
    sentence = await refusal(f"postgresql://heddle:s3cr%2Ft@127.0.0.1:{port}/main")
    assert sentence.startswith(f"Cannot use the database main at 127.0.0.1:{port}: ")


async def test_a_host_that_is_not_there_is_named_without_the_password() -> None:
    sentence = await refusal("postgresql://heddle:s3cr%2Ft@nowhere.invalid/main")
    assert sentence.startswith("Cannot use the database main at nowhere.invalid: ")


@pytest.mark.exhaustive
async def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        sentence = await refusal(f"postgresql://heddle:s3cr%2Ft@127.0.0.1:{port}/main")
    assert sentence == f"Cannot use the database main at 127.0.0.1:{port}: it does not answer."


async def test_a_wrong_password_is_refused_without_being_told(postgres_server: Postgres) -> None:
    url = postgres_server.url("postgres")
    wrong = re.sub(":[^:@]*@", ":s3cr%2Ft@", url)
    assert "password authentication failed" in await refusal(wrong)


async def test_a_database_that_is_missing_is_named(postgres_server: Postgres) -> None:
    assert 'database "absent" does not exist' in await refusal(postgres_server.url("absent"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        f"postgresql://heddle:{SECRET}@host/main",  # a slash that should be %2F
        "postgresql://heddle:s3cr?t@host/main",
        "postgresql://heddle:s3cr#t@host/main",
        "postgresql://heddle:s3cr@t@host/main",
        "mysql://heddle:s3cret@host/main",
        "s3cret",
        "sqlite://s3cret",
        "sqlite:///data?key=s3cret",
    ],
)
async def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    assert (await refusal(url)).startswith("The database URL cannot be read. Write sqlite:///PATH")


async def test_a_port_that_is_no_number_is_refused() -> None:
    assert "main at host:s" in await refusal("postgresql://heddle:s3cret@host:s/main")


async def test_an_option_that_nobody_knows_is_refused(postgres_server: Postgres) -> None:
    assert "nonsense" in await refusal(f"{postgres_server.url('postgres')}&nonsense=1")


async def test_a_database_in_memory_is_refused() -> None:
    assert "must be a file" in await refusal("sqlite:///:memory:")


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Ada, " * 100)
    sentence = await refusal(f"sqlite:///{tmp_path}/letter")
    assert sentence == f"Cannot use the database {tmp_path}/letter: file is not a database."


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "Is a directory" in await refusal(f"sqlite:///{tmp_path}")


async def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = await refusal(f"sqlite:///{tmp_path}/file/heddle.db")
    assert sentence.startswith(f"Cannot use the database {tmp_path}/file/heddle.db: ")
