"""Heddle in each of its forms, with keys of several people, as processes of their own."""

import contextlib
import importlib
import json
import pkgutil
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import grpc
import heddle
import httpx
from connector.gemini import PNG, content, picture
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from heddle_runtime.identity.callers import Identity, TokenSigner
from integration.processes import MODULES, ONE_PROCESS, Processes, processes

Form = Literal["one process", "separate with a secret", "separate without a secret"]
Role = Literal[
    "owner",
    "other user",
    "colleague",
    "member",
    "unknown user",
    "admin",
    "operator",
    "other organisation",
    "other admin",
    "no key",
]
FORMS: tuple[Form, ...] = ("separate without a secret", "separate with a secret", "one process")
SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
OWNER = Identity("ana@uni.example", "uni", ("creator",))
COLLEAGUE = Identity("bea@uni.example", "uni", ("creator",))
STRANGER = Identity("ivo@college.example", "college", ("creator",))
LEARNER = Identity("leo@uni.example", "uni")
UNKNOWN = Identity("ann@school.example", "uni")
"""Nobody in Heddle: a trusted key of the organisation names this user."""
HEAD = Identity("head@uni.example", "uni", ("organization_admin",))
DEAN = Identity("dean@college.example", "college", ("organization_admin",))
TRUSTED = Identity("webui", "uni")
CALLERS: dict[Role, Identity | None] = {
    "owner": OWNER,
    "other user": COLLEAGUE,
    "colleague": COLLEAGUE,
    "member": LEARNER,
    "unknown user": UNKNOWN,
    "admin": HEAD,
    "operator": OPERATOR,
    "other organisation": STRANGER,
    "other admin": DEAN,
    "no key": None,
}
"""Who calls. `colleague` is `other user` with things that the owner shares with the organisation,
as `member` and `unknown user` call with. The owner and both colleagues are creators."""
ADDRESSES = {
    **dict.fromkeys(
        ("account", "assistant", "audit", "conversation", "group", "person", "rubric", "usage"),
        "heddle_assistants",
    ),
    "connector": "heddle_connector",
    "health": "heddle_orchestrator",
    "knowledge": "heddle_knowledge",
    "migration": "heddle_migration_service",
    "orchestrator": "heddle_orchestrator",
    "tool": "heddle_tools_service",
}
"""The process of each package of contracts; all serve `health`."""
NO_SERVICES = {"call", "chat", "error", "multiplex"}
"""Packages without calls of their own: `multiplex` carries those of the others."""


@dataclass(frozen=True)
class Deployment:
    """A running Heddle."""

    form: Form
    running: Processes
    secret: str
    channels: dict[str, grpc.Channel] = field(default_factory=dict)
    clients: dict[Identity | None, httpx.Client] = field(default_factory=dict)

    def rest(self, caller: Identity | None) -> httpx.Client:
        """Return a client of the gateway with the key of a caller."""
        if caller not in self.clients:
            headers = {"authorization": f"Bearer {key_of(caller)}"} if caller else {}
            if caller == UNKNOWN:
                headers = {"authorization": f"Bearer {key_of(TRUSTED)}"}
                headers["x-openwebui-user-email"] = UNKNOWN.subject
            self.clients[caller] = _client(self.running.url, headers)
        return self.clients[caller]

    def close(self) -> None:
        """Close all connections."""
        for channel in self.channels.values():
            channel.close()
        for client in self.clients.values():
            client.close()

    def ask(self, name: str, caller: Identity | None, /, **fields: Any) -> list[Any]:
        """Return the responses of the call `Service.Method`: one, unless it streams them.

        Raises:
            grpc.RpcError: The call failed.
        """
        method = rpcs()[name]
        service = method.containing_service.full_name
        address = f"127.0.0.1:{self.running.ports[ADDRESSES[service.split('.')[1]]]}"
        if address not in self.channels:
            self.channels[address] = grpc.insecure_channel(address)
        channel = self.channels[address]
        open_call: Any = channel.unary_stream if method.server_streaming else channel.unary_unary
        stub = open_call(
            f"/{service}/{method.name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        metadata: tuple[tuple[str, str], ...] = ()
        if caller is not None:
            metadata = (("authorization", f"Bearer {_signer(self.secret).token(caller, service)}"),)
        request = GetMessageClass(method.input_type)(**fields)
        response = stub(request, timeout=60, metadata=metadata)
        return list(response) if method.server_streaming else [response]


def key_of(caller: Identity) -> str:
    """Return the API key of a caller."""
    return f"lamb_{caller.subject.partition('@')[0]}_0123456789abcdef"


def _client(url: str, headers: dict[str, str]) -> httpx.Client:
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.Client(
        base_url=url, headers=headers, timeout=60, trust_env=False, verify=no_certificates
    )


@cache
def _signer(secret: str) -> TokenSigner:
    return TokenSigner(secret)


@cache
def rpcs() -> dict[str, MethodDescriptor]:
    """Return all calls of all contracts, by `service.Method`."""
    methods = {}
    for service in _services():
        package = service.full_name.split(".")[1]
        if package in NO_SERVICES:
            continue
        assert package in ADDRESSES, f"say in ADDRESSES which process serves {service.full_name}"
        for method in service.methods:
            methods[f"{service.name.removesuffix('Service')}.{method.name}"] = method
    return methods


def _services() -> Iterator[ServiceDescriptor]:
    for module in pkgutil.walk_packages(heddle.__path__, "heddle."):
        if module.name.endswith("_pb2"):
            descriptor = importlib.import_module(module.name).DESCRIPTOR
            yield from descriptor.services_by_name.values()


@contextlib.contextmanager
def painting() -> Iterator[str]:
    """Run a provider that answers every request with one picture, and yield its address."""

    class Painter(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps(content(picture(PNG))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Painter)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1beta"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.asynccontextmanager
async def deployed(form: Form, folder: Path) -> AsyncIterator[Deployment]:
    """Run Heddle in a form, with a key for each caller and one for the operator."""
    people = (OPERATOR, OWNER, COLLEAGUE, STRANGER, LEARNER, HEAD, DEAN, TRUSTED)
    keys = folder / "keys.json"
    keys.write_text(
        json.dumps(
            {
                key_of(each): {
                    "subject": each.subject,
                    "organization": each.organization,
                    "scopes": list(each.scopes),
                    "trusted": each == TRUSTED,
                }
                for each in people
            }
        )
    )
    file = folder / "identity-secret"
    environment = {
        "HEDDLE_GATEWAY_DEVELOPMENT": "",
        "HEDDLE_GATEWAY_API_KEYS": str(keys),
        "HEDDLE_IDENTITY_SECRET": SECRET if form == "separate with a secret" else "",
        "HEDDLE_LOCAL_SECRET_FILE": str(file),
        "HEDDLE_CONNECTOR_SHARE_PROVIDERS": "true",
        "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY": "AIza-of-the-operator",
        "HEDDLE_CONNECTOR_IMAGES_DIR": str(folder / "images"),
        "HEDDLE_TOOLS_WORKSPACE_DIR": str(folder / "workspaces"),
        "HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS": "0",
    }
    modules = ONE_PROCESS if form == "one process" else tuple(MODULES)
    with painting() as provider:
        environment["HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL"] = provider
        async with processes(folder, modules=modules, **environment) as running:
            secret = environment["HEDDLE_IDENTITY_SECRET"] or file.read_text().strip()
            with contextlib.closing(Deployment(form, running, secret)) as deployment:
                yield deployment
