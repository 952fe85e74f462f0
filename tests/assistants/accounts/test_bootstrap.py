"""The secrets that the service makes for itself, or is given."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from assistants.accounts.conftest import serving
from assistants.postgres import Postgres
from heddle_assistants.accounts.bootstrap import AccountSettings, encryption_keys
from heddle_runtime.identity.secrets import read_or_create_secret
from pydantic import ValidationError


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_on_one_machine_the_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/heddle.db"
    async with serving(url, key_pepper=None, encryption_key=None) as accounts:
        await accounts.put("uni", '{"kb_server": {"url": "http://kb", "token": "t"}}')
        key = (await accounts.key()).secret
    async with serving(url, key_pepper=None, encryption_key=None) as accounts:
        assert (await accounts.whose(key)).organization == "uni"
        assert (await accounts.settings(organization="uni")).knowledge.token == "t"
    files = [tmp_path / f"heddle.db.{ending}" for ending in ("pepper", "encryption-key")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    assert files[0].read_text() != files[1].read_text()
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    files[0].unlink()
    with pytest.raises(ValueError, match="HEDDLE_ASSISTANTS_KEY_PEPPER"):
        async with serving(url, key_pepper=None, encryption_key=None):
            pass


@pytest.mark.parametrize(
    ("missing", "variable"),
    [
        ("key_pepper", "HEDDLE_ASSISTANTS_KEY_PEPPER"),
        ("encryption_key", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"),
    ],
)
async def test_beside_postgresql_no_secret_can_be_kept(
    postgres_server: Postgres, missing: str, variable: str
) -> None:
    with postgres_server.database() as url, pytest.raises(ValueError, match=variable):
        async with serving(url, **{missing: None}):
            pass


async def test_processes_that_start_at_once_get_one_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    secrets = await asyncio.gather(
        *(asyncio.to_thread(read_or_create_secret, path) for _ in range(16))
    )
    assert set(secrets) == {path.read_text()}
    assert len(secrets[0]) >= 32
    assert names(tmp_path) == ["secret"]


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    read_or_create_secret(path)
    path.chmod(0o640)
    with pytest.raises(OSError, match="chmod 600"):
        read_or_create_secret(path)


def test_an_empty_file_is_not_taken_for_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(0o600)
    with pytest.raises(OSError, match="holds no secret"):
        read_or_create_secret(path)


@pytest.mark.parametrize(
    "given",
    [
        {"key_pepper": "short"},
        {"encryption_key": "short"},
        {"encryption_key": f"{'k' * 32},short"},
        {"encryption_key": f"{'k' * 32},"},
    ],
)
def test_short_secrets_are_refused_and_not_shown(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="32") as caught:
        AccountSettings.model_validate(given)
    assert "short" not in str([error["msg"] for error in caught.value.errors()])


def test_settings_show_no_secret() -> None:
    given = {"key_pepper": "p" * 32, "encryption_key": "k" * 32}
    settings = AccountSettings.model_validate(given)
    shown = repr(settings) + repr(encryption_keys("sqlite:////nowhere", settings))
    assert "ppp" not in shown
    assert "kkk" not in shown
