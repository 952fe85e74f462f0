"""`single_file` in folders that LAMB named by the numbers of their creators."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.errors import ToolFailedError, UnavailableError
from heddle_runtime.serving.server import running
from heddle_tools_service.app import ToolsSettings, app
from runtime.accounts import SECRET, Accounts, serving_accounts
from tools_service.serving import Client, said, text_of

ANN, BEN = "ann@uni.example", "ben@uni.example"


@pytest.fixture
def accounts() -> Accounts:
    """Ann is LAMB's creator 1 and Ben is 2, both of one organisation."""
    made = Accounts(owners=dict.fromkeys((ANN, BEN), "uni"))  # type: ignore[abstract] # it does not offer every method
    made.numbers = {ANN: 1, BEN: 2}
    made.add("uni")
    return made


@asynccontextmanager
async def tools(folder: Path, accounts: Accounts) -> AsyncGenerator[Client]:
    for number in ("1", "2", "01"):
        (folder / "files" / number).mkdir(parents=True)
        (folder / "files" / number / "notes.md").write_text(f"notes of {number}")
    given = {"listen": "127.0.0.1:0", "drain_wait": 0}
    async with serving_accounts(accounts) as service:
        settings = ToolsSettings.model_validate(
            {
                **given,
                "files_dir": folder / "files",
                "assistants_address": service.address,
                "HEDDLE_IDENTITY_SECRET": SECRET,
            }
        )
        async with running(app(settings), settings) as running_tools:
            yield Client(tool_pb2_grpc.ToolServiceStub(running_tools.local))


@pytest.mark.parametrize(
    ("path", "owner", "organization", "readable"),
    [
        ("1/notes.md", ANN, "uni", True),
        ("1/notes.md", ANN, "", True),
        ("2/notes.md", BEN, "uni", True),
        ("2/notes.md", ANN, "uni", False),
        ("1/notes.md", BEN, "uni", False),
        ("1/missing.md", BEN, "uni", False),
        ("1/notes.md", ANN, "college", False),  # a namesake
        ("01/notes.md", ANN, "uni", False),
        ("1/notes.md", "nobody@uni.example", "uni", False),
        ("1/notes.md", "", "uni", False),
        ("1/notes.md", "", "", False),
    ],
)
async def test_a_number_is_the_folder_of_the_user_who_has_it(
    tmp_path: Path, accounts: Accounts, path: str, owner: str, organization: str, *, readable: bool
) -> None:
    context = said("?", owner=owner, organization=organization, secret=SECRET)
    async with tools(tmp_path, accounts) as client:
        if readable:
            _, result = await client.run("single_file", {"file_path": path}, context)
            assert text_of(result) == f"notes of {path[0]}"
            return
        with pytest.raises(ToolFailedError) as caught:
            await client.run("single_file", {"file_path": path}, context)
        assert caught.value.message == "Invalid file path"


async def test_a_number_that_cannot_be_had_is_told_and_may_be_had_later(
    tmp_path: Path, accounts: Accounts
) -> None:
    context = said("?", owner=ANN, organization="uni", secret=SECRET)
    accounts.failure = UnavailableError("down at 10.0.0.1")
    async with tools(tmp_path, accounts) as client:
        with pytest.raises(UnavailableError) as caught:
            await client.run("single_file", {"file_path": "1/notes.md"}, context)
        assert caught.value.message == (
            "Failed to read file: the owner of its folder cannot be determined at the moment"
        )
        accounts.failure = None
        await client.run("single_file", {"file_path": "1/notes.md"}, context)
