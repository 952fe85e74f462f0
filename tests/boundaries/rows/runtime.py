"""Limits of all services, and of the orchestrator."""

import json
from typing import Any

import grpc
import httpx
from boundaries.rows.forms import Check
from connector.provider import Exchange, provider
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle_orchestrator.agent import summary
from heddle_orchestrator.functions.budget import Budget
from heddle_orchestrator.metering import counting
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.tools.function_call import FunctionCall
from heddle_orchestrator.validation import faults, validator
from heddle_orchestrator.validation.faults import Installed
from heddle_runtime import errors
from heddle_runtime.contract import bounded_regex, frontend_payloads, host_lists, limits
from heddle_runtime.contract.schema_references import limited
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.http import egress, remote_json
from heddle_runtime.rpc import client
from heddle_runtime.rpc.interceptor import Method
from heddle_runtime.rpc.multiplex import server_call
from heddle_runtime.telemetry import logs


def _nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def _schema(characters: int) -> object:
    empty = len(json.dumps({"description": ""}))
    return limited({"description": "x" * (characters - empty)})


def _patterns(count: int) -> None:
    pattern = bounded_regex.keyword(bounded_regex.Watch())
    for _ in range(count):
        pattern({}, "a", None)


async def _message(size: int) -> None:
    """Send a message of a size to a server with the options of all services, and receive it."""

    async def echo(request: bytes, _: Any) -> bytes:
        return request

    server = grpc.aio.server(options=client.OPTIONS)
    handler: Any = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("a", {"b": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", client.OPTIONS) as channel:
        try:
            call: Any = channel.unary_unary("/a/b")
            await call(bytes(size))
        finally:
            await server.stop(None)


async def _answer(size: int) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, b"x" * size)

    async with provider(script) as server, httpx.AsyncClient() as http:
        await remote_json.exchange(http, http.build_request("GET", server.url), "The server")


def _response(size: int) -> None:
    method = Method(None, streaming=False, encode=bytes, _decode=bytes)
    server_call._encoded(method, size)


def _violations(size: int) -> bool:
    """Return whether violations are left out whose messages have a size."""
    one = errors._field_violations([errors.Violation("", "x" * 200)])[0].ByteSize()
    last = size - (size // one - 1) * one
    count = size // one - 1
    descriptions = ["x" * 200] * count + ["x" * (last - (one - 200))]
    messages = errors._field_violations([errors.Violation("", each) for each in descriptions])
    return bool(messages[-1].description != descriptions[-1])


def _rounds(count: int) -> list[object]:
    assistant = assistant_pb2.Assistant(max_tool_rounds=count)
    return [
        fault
        for fault in faults.faults_of(assistant, Installed(None, None))
        if fault.violation.field.endswith("max_tool_rounds")
    ]


def _presented(*questions: str, icon: str = "") -> list[object]:
    assistant = assistant_pb2.Assistant(icon=icon, starter_questions=questions)
    return list(faults._of_presentation(assistant))


def _equal_calls(number: int) -> str:
    """Return why a call does not run that was made before."""
    budget = Budget(100, 100, 100)
    call = FunctionCall.read(chat_pb2.ToolCall(name="f", arguments_json="{}"))
    return [budget.refusal(call) for _ in range(number)][-1]


def _failed_calls(number: int) -> str:
    """Return why a call does not run, after which all calls failed."""
    budget = Budget(100, 100, 100)
    for _ in range(number - 1):
        budget.take_outcome(None, errors.ToolFailedError("It failed."))
    return budget.stopped


def _counted(keys: int) -> bool:
    meter = Meter()
    for number in range(keys):
        meter.add((str(number), "c", "m"), None)
    return len(meter._sums) < keys


_RUNTIME, _ORCHESTRATOR = "heddle_runtime", "heddle_orchestrator"
ROWS: dict[str, Check] = {
    f"{_RUNTIME}.contract.bounded_regex._MAX_PATTERNS": _patterns,
    f"{_RUNTIME}.contract.limits.MAX_MESSAGE_BYTES": _message,
    f"{_RUNTIME}.http.egress.MAX_ADDRESS_CHARACTERS": lambda n: egress.document_address_problem(
        "http://a/".ljust(n, "x")
    ),
    f"{_RUNTIME}.errors._MAX_VIOLATIONS_BYTES": _violations,
    f"{_RUNTIME}.contract.frontend_payloads._MAX_OBJECTS_CHARACTERS": lambda n: (
        frontend_payloads._within(["x" * (n - 2)])[1]
    ),
    f"{_RUNTIME}.contract.host_lists._MAX_HOST": lambda n: next(
        host_lists.host_problems(("a." * n)[: n - 1] + "a"), None
    ),
    f"{_RUNTIME}.http.remote_json.MAX_ANSWER_BYTES": _answer,
    f"{_RUNTIME}.contract.limits.MAX_JSON_DEPTH": lambda n: limits.exceeds_depth(
        _nested(n), limits.MAX_JSON_DEPTH
    ),
    f"{_RUNTIME}.contract.limits.MAX_TOOL_ROUNDS": _rounds,
    f"{_RUNTIME}.contract.limits.MAX_ICON_CHARACTERS": lambda n: _presented(
        icon="data:image/png;base64,".ljust(n, "A")
    ),
    f"{_RUNTIME}.contract.limits.MAX_STARTER_QUESTIONS": lambda n: _presented(*["Why?"] * n),
    f"{_RUNTIME}.contract.limits.MAX_QUESTION_CHARACTERS": lambda n: _presented("x" * n),
    f"{_RUNTIME}.telemetry.logs._MAX_CHARACTERS": lambda n: logs._cut("x" * n) != "x" * n,
    f"{_RUNTIME}.rpc.multiplex.server_call._MAX_RESPONSE_BYTES": _response,
    f"{_RUNTIME}.contract.schema_references.MAX_DEPTH": lambda n: limited(_nested(n)) and None,
    f"{_RUNTIME}.contract.schema_references.MAX_REFERENCES": lambda n: (
        limited({"anyOf": [{"$ref": "#"}] * n}) and None
    ),
    f"{_RUNTIME}.contract.schema_references.MAX_SCHEMA_CHARACTERS": lambda n: _schema(n) and None,
    f"{_RUNTIME}.contract.struct_codec._MAX_EXACT_INTEGER": lambda n: to_struct({"a": n}) and None,
    f"{_ORCHESTRATOR}.agent.summary._MAX_SOURCES_BYTES": lambda n: (
        not summary._first([{"a": "x" * (n - len('{"a": ""}'))}])
    ),
    f"{_ORCHESTRATOR}.functions.budget._MAX_EQUAL_CALLS": _equal_calls,
    f"{_ORCHESTRATOR}.functions.budget._MAX_ERRORS": _failed_calls,
    f"{_ORCHESTRATOR}.metering.counting._MAX_TOKENS": lambda n: (
        counting._tokens(chat_pb2.Usage(prompt_tokens=n)) is None
    ),
    f"{_ORCHESTRATOR}.metering.meter.MAX_KEYS": _counted,
    f"{_ORCHESTRATOR}.validation.validator.MAX_REQUESTS": lambda n: validator._check_number(
        [orchestrator_pb2.ValidateAssistantRequest()] * n
    ),
}
