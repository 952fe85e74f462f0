"""Open WebUI's headers, with keys that are trusted and with others."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from gateway.accounts import ANN, gateway
from gateway.conftest import KEY
from gateway.conftest import gateway as scripted_gateway
from heddle_gateway.auth.issued_keys import CACHE_SECONDS
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.callers import Identity

BEN = "ben@uni.example"
NAMED = [
    ("X-OpenWebUI-User-Email", BEN),
    ("X-OpenWebUI-User-Id", "5f0c"),
    ("X-OpenWebUI-User-Name", "Ben%20Other"),
    ("X-OpenWebUI-User-Role", "admin"),
]
COPY = {"__openwebui_headers__": {"x-openwebui-user-email": "eve@evil.example"}, "user": "eve"}


async def test_a_trusted_key_speaks_for_a_user_who_may_do_no_more_than_users(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport) as bench:
        created = await bench.key(trusted=True, scopes=["organization_admin", "admin"])
        key = created.secret
        assert (await bench.chat(key, NAMED, **COPY)).status_code == 200
        assert (await bench.chat(key, **COPY)).status_code == 200
        assert (await bench.chat(key, [("X-OpenWebUI-User-Name", "Ben")])).status_code == 200
    assert bench.callers[0] == Identity(BEN, "uni", key_id=created.key.id)
    assert all(identity.subject.startswith("key:") for identity in bench.callers[1:])
    assert "eve" not in str(bench.callers)


@pytest.mark.parametrize("user", ["", ANN])
async def test_any_other_key_speaks_for_itself(tmp_path: Path, transport: str, user: str) -> None:
    async with gateway(tmp_path, transport) as bench:
        made = await bench.key(user=user)
        for key in (made.secret, KEY):
            twice = [*NAMED, ("X-OpenWebUI-User-Email", "x")]  # what does not count cannot be wrong
            assert (await bench.chat(key, twice, **COPY)).status_code == 200
    own = ANN if user else f"key:{made.key.id}"
    assert [identity.subject for identity in bench.callers] == [own, "operator"]


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_key_of_the_file_may_be_trusted(tmp_path: Path, *, trusted: bool) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(f"'{KEY}': {{subject: webui, organization: uni, trusted: {trusted}}}\n")
    async with gateway(tmp_path, "local", api_key=None, api_keys=keys) as bench:
        assert (await bench.chat(KEY, NAMED)).status_code == 200
    assert bench.callers == [Identity(BEN if trusted else "webui", "uni", key_id="file:1")]


async def test_a_person_whom_nobody_knows_is_a_plain_member_of_the_keys_organisation(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport) as bench:
        await bench.organization("evil")
        await bench.user("eve@evil.example", "evil", role="admin")
        await bench.user("mallory@evil.example", "evil", disabled=True)
        created = await bench.key(trusted=True)
        people = ("nobody@uni.example", "eve@evil.example", "mallory@evil.example")
        for email in people:
            assert (await bench.chat(created.secret, [(NAMED[0][0], email)])).status_code == 200
    assert bench.callers == [Identity(email, "uni", key_id=created.key.id) for email in people]


async def test_a_user_has_the_role_of_the_own_organisation_and_administers_nothing(
    tmp_path: Path,
) -> None:
    roles = {"member": (), "creator": ("creator",), "admin": ("creator",)}
    async with gateway(tmp_path, "local") as bench:
        created = await bench.key(trusted=True, scopes=["organization_admin"])
        for role in roles:
            await bench.user(f"{role}@uni.example", role=role)
            sent = [(NAMED[0][0], f"{role}@uni.example")]
            assert (await bench.chat(created.secret, sent)).status_code == 200
    assert [identity.scopes for identity in bench.callers] == [*roles.values()]


async def test_a_disabled_user_is_refused_whoever_speaks_for_him(
    tmp_path: Path, transport: str
) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(f"'{KEY}': {{subject: webui, trusted: true}}\n")
    async with gateway(tmp_path, transport, api_key=None, api_keys=keys) as bench:
        await bench.user(BEN, disabled=True)
        issued = (await bench.key(trusted=True)).secret
        for key in (issued, KEY):
            refused = await bench.chat(key, NAMED)
            assert (refused.status_code, refused.json()["error"]["code"]) == (
                403,
                "permission_denied",
            )
            assert (await bench.chat(key, [(NAMED[0][0], BEN.upper())])).status_code == 403
            assert (await bench.chat(key, [(NAMED[0][0], ANN)])).status_code == 200
        models = await bench.client.get(
            "/v1/models", headers=[("authorization", f"Bearer {issued}"), *NAMED]
        )
        assert models.status_code == 403
    assert BEN not in {caller.subject for caller in bench.callers}


async def test_a_user_is_asked_about_once_in_two_seconds_and_disabled_within_them(
    tmp_path: Path, transport: str
) -> None:
    async with gateway(tmp_path, transport) as bench:
        await bench.user(BEN)
        key = (await bench.key(trusted=True)).secret
        answers = await asyncio.gather(*(bench.chat(key, NAMED) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert bench.accounts.calls
        for calls in bench.accounts.calls_of_each.values():
            assert [name for name, _ in calls] == ["ResolveKey", "ResolveUser"]
        await bench.user(BEN, disabled=True)
        disabled = time.monotonic()
        while 200 in [(await bench.chat(key, NAMED)).status_code for _ in range(2)]:
            assert time.monotonic() - disabled < CACHE_SECONDS + 1  # a busy machine's second
            await asyncio.sleep(0.05)


async def test_users_who_cannot_be_checked_are_not_let_in(tmp_path: Path, transport: str) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(f"'{KEY}': {{subject: webui, organization: uni, trusted: true}}\n")
    async with gateway(tmp_path, transport, api_key=None, api_keys=keys) as bench:
        bench.accounts.failure = UnavailableError("The database at 10.0.0.7 is down.")
        refused = await bench.chat(KEY, NAMED)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "10.0.0.7" not in refused.text
        bench.accounts.failure = None
        assert (await bench.chat(KEY, NAMED)).status_code == 200


async def test_an_id_without_an_address_names_somebody_and_gives_no_rights(tmp_path: Path) -> None:
    keys = tmp_path / "keys.yaml"
    plain = "another-key-of-16-characters"
    keys.write_text(
        f"'{KEY}': {{subject: webui, organization: uni, trusted: true}}\n"
        f"'{plain}': {{subject: script, organization: uni}}\n"
    )
    named = [("X-OpenWebUI-User-Id", "5f0c")]
    async with gateway(tmp_path, "local", api_key=None, api_keys=keys) as bench:
        assert (await bench.chat(KEY, named)).status_code == 200
        assert (await bench.chat(KEY, NAMED)).status_code == 200
        assert (await bench.chat(plain, named)).status_code == 200
    assert bench.callers == [
        Identity("webui", "uni", client_user="5f0c", key_id="file:1"),
        Identity(BEN, "uni", key_id="file:1"),
        Identity("script", "uni", key_id="file:2"),
    ]


EMAIL = b"X-OpenWebUI-User-Email"


@pytest.mark.parametrize(
    "headers",
    [
        [(EMAIL, BEN.encode()), (EMAIL, b"ann@uni.example")],
        [(EMAIL, BEN.encode()), (EMAIL, BEN.encode())],
        [(EMAIL, BEN.encode()), (b"X-OpenWebUI-User-Role", b"user")] * 2,
        [(EMAIL, b"anonymous")],
        [(EMAIL, b"key:0123456789abcdef")],
        [(EMAIL, b"a b@uni.example")],
        [(EMAIL, b"a@uni.example, b@uni.example")],
        [(EMAIL, "bën@uni.example".encode())],
        [(EMAIL, b"a" * 65 + b"@uni.example")],
        [(EMAIL, b"a@" + b"b" * 5000)],
        [(EMAIL, b"a\x01@uni.example")],
        [(EMAIL, BEN.encode()), (b"X-OpenWebUI-User-Name", b"x" * 2000)],
        [(EMAIL, BEN.encode()), (b"X-OpenWebUI-User-Id", b"a\x1fb")],
        [(b"X-OpenWebUI-User-Id", "fünf".encode())],
    ],
)
async def test_a_wrong_header_of_a_trusted_key_is_refused(tmp_path: Path, headers: Any) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(f"'{KEY}': {{subject: webui, trusted: true}}\n")
    async with scripted_gateway(api_key=None, api_keys=keys) as bench:
        asked = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]}
        response = await bench.client.post("/v1/chat/completions", json=asked, headers=headers)
    assert response.status_code == 400
    assert not bench.orchestrator.requests


@pytest.mark.parametrize("name", ["X_OpenWebUI_User_Email", "X-User-Email", "X-OpenWebUI-Email"])
async def test_a_header_that_looks_alike_names_nobody(tmp_path: Path, name: str) -> None:
    keys = tmp_path / "keys.yaml"
    keys.write_text(f"'{KEY}': {{subject: webui, trusted: true}}\n")
    async with scripted_gateway(api_key=None, api_keys=keys) as bench:
        assert (await bench.chat({name: BEN})).status_code == 200
    assert bench.orchestrator.callers[0].identity.subject == "webui"
