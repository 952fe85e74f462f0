"""`heddle keys`, `heddle organizations` and `heddle users`: alone, and with the real service."""

import io
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc_testing
import pytest
from cli.conftest import Run
from cli.serving import in_thread
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_assistants.accounts.bootstrap import (
    AccountSettings,
    account_service,
    encryption_keys,
)
from heddle_assistants.audit.log import open_audit_log
from heddle_cli.commands import keys
from heddle_cli.connections import Connection
from heddle_cli.secret import authorized
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import OPERATOR, Identity, TokenSigner, TokenVerifier
from heddle_runtime.serving.server import Binding
from heddle_runtime.storage.database.engine import open_database
from new_databases import database_in

SECRET = "a-secret-of-at-least-32-characters"
CONTRACT = pb.DESCRIPTOR.services_by_name["AccountService"]
SETTINGS = {"kb_server": {"url": "http://kb", "token": "s3cr3t"}, "title": "Ünï"}


def answered(call: Callable[[Connection[Any]], Any], method: str, *responses: Any) -> Any:
    """Return what `call` returns when a channel of grpcio-testing answers; and what was sent."""
    channel = grpc_testing.channel([CONTRACT], grpc_testing.strict_real_time())
    sent = []
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            call, Connection(pb_grpc.AccountServiceStub(authorized(channel)), channel, "there:1")
        )
        for response in responses:
            metadata, request, rpc = channel.take_unary_unary(CONTRACT.methods_by_name[method])
            rpc.send_initial_metadata(())
            rpc.terminate(response, (), grpc.StatusCode.OK, "")
            sent.append((dict(metadata), request))
        return future.result(10), sent


def test_calls_go_out_in_the_operators_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    key = pb.Key(name="k", organization="uni")
    made, [(metadata, request)] = answered(
        lambda connection: keys.create(connection, key),
        "CreateKey",
        pb.CreateKeyResponse(key=key, secret="hk_a_b"),
    )
    token = metadata[AUTHORIZATION].removeprefix("Bearer ")
    assert TokenVerifier(SECRET).identity(token, CONTRACT.full_name) == OPERATOR
    assert OPERATOR.scopes == ("admin",)
    assert (request.key, made.secret) == (key, "hk_a_b")


def test_keys_are_listed_over_all_pages() -> None:
    found, sent = answered(
        lambda connection: keys.listed(connection, "uni").keys,
        "ListKeys",
        pb.ListKeysResponse(keys=[pb.Key(id="a")], next_page_token="more"),
        pb.ListKeysResponse(keys=[pb.Key(id="b")]),
    )
    assert [key.id for key in found] == ["a", "b"]
    assert [(request.organization, request.page_token) for _, request in sent] == [
        ("uni", ""),
        ("uni", "more"),
    ]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The real account service, an environment that leads to it, and its address."""
    url = database_in(tmp_path)
    values = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0}
    settings = AccountSettings.model_validate(values)

    @asynccontextmanager
    async def app() -> AsyncIterator[Sequence[Binding]]:
        async with open_database(url) as database:
            audit = await open_audit_log(database, encryption_keys(url, settings))
            yield [await account_service(database, audit, url, settings)]

    with in_thread(app(), settings) as address:
        monkeypatch.setenv("HEDDLE_ASSISTANTS_ADDRESS", address)
        monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
        yield address


def test_the_key_alone_goes_to_the_output_and_serves(service: str, heddle: Run) -> None:
    heddle("organizations", "set", "uni", "--name", "The University")
    heddle("users", "set", "ann@uni.example", "--organization", "uni", "--role", "admin")

    code, out, notes = heddle(
        *("keys", "create", "--name", "laptop", "--organization", "uni"),
        *("--user", "ann@uni.example", "--scope", "organization_admin", "--expires", "30"),
    )

    assert code == 0
    [key] = out.splitlines()
    identifier = key.split("_")[1]
    assert notes == f"{identifier}: created. Store the key: it cannot be shown again.\n"
    listed = heddle("keys", "list")
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 30 * 86_400))
    assert listed == (
        0,
        f"{identifier}  uni  ann@uni.example  organization_admin  until {day}  laptop\n",
        "",
    )
    assert resolved(service, key).subject == "ann@uni.example"
    assert heddle("keys", "revoke", identifier) == (0, f"{identifier}: revoked\n", "")
    with pytest.raises(grpc.RpcError):
        resolved(service, key)
    assert "revoked 2" in heddle("keys", "list", "--organization", "uni")[1]
    assert heddle("keys", "list", "--organization", "other")[1] == ""


def resolved(address: str, key: str) -> pb.ResolveKeyResponse:
    """Ask the service whose a key is, as the gateway does."""
    token = TokenSigner(SECRET).token(Identity("gateway", scopes=("service",)), CONTRACT.full_name)
    with grpc.insecure_channel(address) as channel:
        return pb_grpc.AccountServiceStub(channel).ResolveKey(
            pb.ResolveKeyRequest(key=key),
            timeout=10,
            metadata=((AUTHORIZATION, f"Bearer {token}"),),
        )


@pytest.mark.usefixtures("service")
def test_a_key_is_revoked_by_who_has_it_at_hand(heddle: Run) -> None:
    heddle("organizations", "set", "uni")
    key = heddle("keys", "create", "--name", "k", "--organization", "uni", "--trusted")[1].strip()
    assert heddle("keys", "list")[1].split()[2:5] == ["-", "trusted", "valid"]
    identifier = key.split("_")[1]
    assert heddle("keys", "revoke", key) == (0, f"{identifier}: revoked\n", "")


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--organization", "nowhere"), "heddle: No organisation is named 'nowhere'.\n"),
        (("--organization", "uni", "--user", "x@y"), "'uni' has no such user"),
        (("--organization", "uni", "--scope", "service"), "not 'service'"),
    ],
)
def test_a_refused_key_leaves_the_output_empty(
    heddle: Run, arguments: Sequence[str], said: str
) -> None:
    heddle("organizations", "set", "uni")
    code, out, notes = heddle("keys", "create", "--name", "k", *arguments)
    assert (code, out) == (1, "")
    assert said in notes
    assert "\n" not in notes.strip()


@pytest.mark.parametrize("days", ["inf", "nan", "1e13", "0"])
def test_a_key_ends_in_a_time_that_people_may_see(heddle: Run, days: str) -> None:
    code, out, notes = heddle(
        *("keys", "create", "--name", "k", "--organization", "uni", "--expires", days)
    )

    assert (code, out) == (2, "")
    assert "--expires" in notes


@pytest.mark.usefixtures("service")
def test_settings_are_shown_without_secrets_edited_and_set_again(
    heddle: Run, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(SETTINGS))
    assert heddle("organizations", "set", "uni", str(file)) == (0, "uni: made\n", "")

    code, out, notes = heddle("organizations", "show", "uni")

    assert code == 0
    shown = json.loads(out)
    assert shown == {**SETTINGS, "kb_server": {"url": "http://kb", "token": "********"}}
    etag = notes.split()[-1]
    file.write_text(json.dumps({**shown, "title": "New"}))
    changing = ("organizations", "set", "uni", str(file), "--etag", etag)
    assert heddle(*changing) == (0, "uni: changed\n", "")
    code, _, notes = heddle(*changing)
    assert (code, "changed since it was read" in notes) == (1, True)
    table = "default  system  default\nuni      -       uni\n"
    assert heddle("organizations", "list") == (0, table, "")


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "is empty. Write {} for"), (b" \n", "is empty."), (b"{\xff}", "is not UTF-8.")],
)
def test_a_file_that_holds_no_settings_is_not_taken_for_settings_that_stay(
    heddle: Run, tmp_path: Path, content: bytes, told: str
) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)

    code, out, notes = heddle("organizations", "set", "uni", str(file))

    assert (code, out) == (1, "")
    assert notes.startswith(f"heddle: {file} {told}")


@pytest.mark.usefixtures("service")
def test_an_organisation_that_is_not_there_is_told(heddle: Run) -> None:
    assert heddle("organizations", "show", "nil") == (
        1,
        "",
        "heddle: No organisation is named 'nil'.\n",
    )


@pytest.mark.parametrize(
    ("key", "state"),
    [
        (pb.Key(), "valid"),
        (pb.Key(expire_time=Timestamp(seconds=4_102_444_800)), "until 2100-01-01"),
        (pb.Key(expire_time=Timestamp(seconds=86_400)), "expired 1970-01-02"),
        (pb.Key(revoke_time=Timestamp(), expire_time=Timestamp()), "revoked 1970-01-01"),
    ],
)
def test_a_list_tells_what_a_key_is_worth(key: pb.Key, state: str) -> None:
    assert keys.state(key) == state


@pytest.mark.usefixtures("service")
def test_a_generated_password_alone_goes_to_the_output(heddle: Run) -> None:
    heddle("organizations", "set", "uni")
    heddle("users", "set", "ann@uni.example", "--organization", "uni")
    setting = ("users", "set-password", "ann@uni.example", "--organization", "uni")
    code, out, notes = heddle(*setting, "--generate")
    assert code == 0
    assert len(out.strip()) == 20
    assert out.strip() not in notes
    code, out, notes = heddle(
        *("users", "set-password", "ben@uni.example", "--organization", "uni", "--generate")
    )
    assert (code, out) == (1, "")
    assert "no user 'ben@uni.example'" in notes


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("correct horse battery\n", 0, "password set in uni"),
        ("too short\n", 1, "at least 12 characters"),
        ("\n", 2, "--generate"),
    ],
)
def test_a_password_comes_from_standard_input_and_is_not_printed(
    heddle: Run, monkeypatch: pytest.MonkeyPatch, line: str, code: int, message: str
) -> None:
    heddle("organizations", "set", "uni")
    heddle("users", "set", "ann@uni.example", "--organization", "uni")
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    result = heddle("users", "set-password", "ann@uni.example", "--organization", "uni")
    assert (result[0], result[1]) == (code, "")
    assert message in result[2]
    assert line.strip() not in result[2] or not line.strip()
