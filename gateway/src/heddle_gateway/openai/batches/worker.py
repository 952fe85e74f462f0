"""Answers the lines of batches, each as a request of the batch's owner."""

import asyncio
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec
import structlog
from heddle.conversation.v1 import batches_pb2 as pb
from heddle.knowledge.v1 import files_pb2
from heddle_runtime.contract.limits import MAX_BATCH_LINES
from heddle_runtime.errors import (
    ConflictError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ResourceExhaustedError,
)
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_request_id
from heddle_runtime.identity.callers import Identity
from starlette.types import ASGIApp, Scope

from heddle_gateway.http.own_request import OwnRequest
from heddle_gateway.openai.chat.run_events import new_id
from heddle_gateway.services import call
from heddle_gateway.state import State

Endpoint = Literal["/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions"]
MAX_ID_CHARACTERS = 512
_SHOWN_FAULTS = 50
_encode = msgspec.json.encode


class Line(msgspec.Struct):
    """A request of an input file."""

    custom_id: str
    method: Literal["POST"]
    url: str
    body: msgspec.Raw


class FaultError(Exception):
    """What is wrong with a line."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


def read_lines(content: bytes, endpoint: str) -> tuple[list[Line], list[dict[str, Any]]]:
    """Return the requests of an input file for an endpoint, and what is wrong with it."""
    lines: list[Line] = []
    faults: list[dict[str, Any]] = []
    known: set[str] = set()
    for number, text in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not text.strip():
            continue
        try:
            lines.append(_line(text, endpoint, known))
        except FaultError as error:
            faults.append(_fault(error, number))
        if len(lines) > MAX_BATCH_LINES:
            fault = FaultError("too_many_lines", f"A batch has at most {MAX_BATCH_LINES} lines.")
            return [], [_fault(fault, None)]
    if not lines and not faults:
        faults.append(_fault(FaultError("empty_file", "The file has no lines."), None))
    return lines, faults[:_SHOWN_FAULTS]


def _line(text: bytes, endpoint: str, known: set[str]) -> Line:
    try:
        line = msgspec.json.decode(text, type=Line)
        body = msgspec.json.decode(line.body)
    except (msgspec.MsgspecError, ValueError) as error:
        message = f"The line is no request: {error}. It needs custom_id, method, url and body."
        raise FaultError("invalid_json_line", message) from None
    if not 0 < len(line.custom_id) <= MAX_ID_CHARACTERS:
        message = f"custom_id must have 1 to {MAX_ID_CHARACTERS} characters."
        raise FaultError("invalid_custom_id", message, "custom_id")
    if line.custom_id in known:
        message = f"custom_id {line.custom_id[:100]!r} is that of another line."
        raise FaultError("duplicate_custom_id", message, "custom_id")
    if line.url != endpoint:
        raise FaultError("mismatched_url", f"url must be {endpoint}, as of the batch.", "url")
    if not isinstance(body, dict):
        raise FaultError("invalid_body", "body must be an object.", "body")
    if body.get("stream") or body.get("background"):
        raise FaultError(
            "invalid_body", "A batch neither streams nor runs in the background.", "body"
        )
    known.add(line.custom_id)
    return line


def _fault(fault: FaultError, line: int | None) -> dict[str, Any]:
    return {"code": fault.code, "message": str(fault), "param": fault.param, "line": line}


def output_line(line: Line, exchange: OwnRequest) -> str:
    """Return the line of the output file about a request and its response."""
    response: Mapping[str, Any] = {
        "status_code": exchange.status,
        "request_id": exchange.headers.get(b"x-request-id", b"").decode(),
        "body": msgspec.Raw(b"".join(exchange.parts) or b"null"),
    }
    members = {"id": new_id("batch_req"), "custom_id": line.custom_id, "response": response}
    return _encode({**members, "error": None}).decode()


log = structlog.get_logger(__name__)
_BATCHES = 4
"""The batches of a gateway at the same time."""
_LINES = 4
"""The lines of a batch at the same time."""
_POLL_SECONDS = 5.0
_REPORT_SECONDS = 1.0
_ATTEMPTS = 6
_BUSY = (429, 503)
_OK = 200
_HEADERS = ((b"host", b"localhost"), (b"content-type", b"application/json"))


class BatchWorker:
    """Claims batches, and answers them beside the requests of clients."""

    def __init__(self, state: State, application: ASGIApp) -> None:
        self._state = state
        self._application = application
        self._claimant = uuid.uuid4().hex
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until this task is cancelled, which gives the claims up."""
        try:
            while True:
                with suppress(HeddleError):  # the health of the gateway reports the service
                    await self._claim()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_SECONDS):
                        await self._state.work.wait()
                self._state.work.clear()
        finally:
            for each in self._tasks:
                each.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _claim(self) -> None:
        batches = self._state.services.batches
        while len(self._tasks) < _BATCHES:
            with self._state.credentials.as_service():
                request = pb.ClaimBatchRequest(claimant=self._claimant)
                claimed = await call(batches.ClaimBatch, request)
            if not claimed.HasField("batch"):
                return
            run = _Run(self._state, self._application, self._claimant, claimed)
            task = asyncio.create_task(run.work())
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._state.work.set()


class _Run:
    """The work on a batch that this gateway has claimed."""

    def __init__(
        self, state: State, application: ASGIApp, claimant: str, claimed: pb.ClaimBatchResponse
    ) -> None:
        self._services = state.services
        self._application = application
        self._claimant = claimant
        self._claimed = claimed
        self._batch = claimed.batch
        self._document: dict[str, Any] = msgspec.json.decode(claimed.batch.document_json)
        self._identity = Identity(
            claimed.owner, claimed.organization, tuple(claimed.scopes), key_id=claimed.key_id
        )
        self._results: list[pb.BatchResult] = []

    async def work(self) -> None:
        """Answer the lines that have no result, and end the batch."""
        CALLER.set(Caller(new_request_id(), self._identity))
        try:
            await self._end(await self._answer_all())
        except asyncio.CancelledError:
            with suppress(HeddleError):
                await self._report(release=True)
            raise
        except ConflictError:
            pass  # another gateway continues
        except Exception:  # the claim ends, and a gateway continues
            log.exception("batch interrupted", batch=self._batch.id)

    async def _answer_all(self) -> str:
        """Answer the lines, and return the status that the batch ends with."""
        if self._claimed.disabled:
            return self._failed("user_disabled", "The owner of the batch is disabled.")
        file = files_pb2.GetFileContentRequest(id=self._document["input_file_id"])
        try:
            content = (await call(self._services.files.GetFileContent, file)).data
        except NotFoundError:
            return self._failed("file_not_found", "The input file was deleted.")
        lines, _ = await asyncio.to_thread(read_lines, content, self._document["endpoint"])
        listing = pb.ListBatchResultsRequest(id=self._batch.id, without_documents=True)
        listed = await call(self._services.batches.ListBatchResults, listing)
        done = {each.line for each in listed.results}
        pending = ((n, each) for n, each in enumerate(lines) if n not in done)
        answering = [asyncio.create_task(self._answer(pending)) for _ in range(_LINES)]
        try:
            while True:
                _, running = await asyncio.wait(answering, timeout=_REPORT_SECONDS)
                status = await self._report()
                if status == "cancelling":
                    return "cancelled"
                if time.time() > self._document["expires_at"]:
                    return "expired"
                if not running and not self._results:
                    return "completed"
        finally:
            for each in answering:
                each.cancel()
            await asyncio.gather(*answering, return_exceptions=True)

    async def _answer(self, lines: Iterator[tuple[int, Line]]) -> None:
        for number, line in lines:
            exchange = await self._response(line)
            failed = exchange.status != _OK
            document = output_line(line, exchange)
            self._results.append(pb.BatchResult(line=number, failed=failed, document_json=document))

    async def _response(self, line: Line) -> OwnRequest:
        """Return the response to a line; that of the last attempt if the gateway is busy."""
        path = line.url
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "client": None,
        }
        attempt = 0
        while True:
            exchange = OwnRequest(bytes(line.body))
            await exchange.post(self._application, scope, _HEADERS, identity=self._identity)
            again = exchange.headers.get(b"x-should-retry") != b"false"
            attempt += 1
            if exchange.status not in _BUSY or not again or attempt == _ATTEMPTS:
                return exchange
            await asyncio.sleep(max(float(exchange.headers.get(b"retry-after", 1)), attempt))

    def _failed(self, code: str, message: str) -> str:
        fault = {"code": code, "message": message, "param": None, "line": None}
        self._document["errors"] = {"object": "list", "data": [fault]}
        return "failed"

    async def _report(self, *, release: bool = False, ending: str = "") -> str:
        """Store new results, and return the status of the batch. A failure leaves them."""
        results, self._results = self._results, []
        request = pb.ReportBatchRequest(
            id=self._batch.id,
            claimant=self._claimant,
            results=results,
            release=release,
            ending=ending,
        )
        if ending:
            request.document_json = msgspec.json.encode(self._document).decode()
        try:
            response = await call(self._services.batches.ReportBatch, request)
        except HeddleError as error:
            self._results = results + self._results
            if ending or isinstance(error, ConflictError):
                raise
            return ""
        return response.batch.status

    async def _end(self, status: str) -> None:
        """Write the files of a batch, and end it."""
        self._document["finalizing_at"] = int(time.time())
        try:
            await self._write_files()
        except (InvalidRequestError, ResourceExhaustedError) as error:
            status = self._failed("output_not_stored", error.message)
        self._document[f"{status}_at"] = int(time.time())
        if status == "cancelled":
            self._document["cancelling_at"] = self._document["cancelled_at"]
        await self._report(ending=status)

    async def _write_files(self) -> None:
        """Store the results as files. The same results again are the same files."""
        texts: dict[bool, list[str]] = {False: [], True: []}
        listing = pb.ListBatchResultsRequest(id=self._batch.id)
        list_results = self._services.batches.ListBatchResults
        while results := (await call(list_results, listing)).results:
            for each in results:
                texts[each.failed].append(f"{each.document_json}\n")
            listing.from_line = results[-1].line + 1
        for failed, name in ((False, "output"), (True, "error")):
            if not texts[failed]:
                continue
            file = files_pb2.CreateFileRequest(
                filename=f"{self._batch.id}_{name}.jsonl",
                purpose="batch_output",
                media_type="application/jsonl",
                data="".join(texts[failed]).encode(),
                upload_key=f"{self._batch.id}-{name}",
            )
            stored = await call(self._services.files.CreateFile, file)
            self._document[f"{name}_file_id"] = stored.file.id
