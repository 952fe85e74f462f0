"""Heddle with collections and an assistant for each kind of turn."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.store import open_store

from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.gateway.systems import PATH, System, heddle_environment
from benchmarks.retrieval.scale_fill import rows
from benchmarks.retrieval.scale_texts import Text
from benchmarks.turns.corpus import PROMPT, TOP_K, RandomVectors, passages, vectors

SIZES = {"small": 200, "large": 10_000}
"""Collections, and the passages of each."""
_PER_DOCUMENT = 20
_PORTS = 7
_RAG = "{{type: simple_rag, id: {0}, slot: {0}, config: {{collections: [{1}], top_k: {2}}}}}"
_SEARCH = "{{type: fast_vector_search, mode: {0}, config: {{collections: [{1}], limit: {2}}}}}"
_THREE = ", ".join(_RAG.format(slot, "small", TOP_K) for slot in ("context", "second", "third"))
TOOLS = {
    "plain": "",
    "simple_rag, 200": _RAG.format("context", "small", TOP_K),
    "simple_rag, 10,000": _RAG.format("context", "large", TOP_K),
    "three tools, 200": _THREE,
    "search as a slot": _SEARCH.format("augment", "small", 5),
    "agent by rules": _SEARCH.format("agent", "small", 5),
}
"""The tools of each assistant. The last two make the same search."""
_STRATEGIES = {"agent by rules": "agent_rules"}
_STRATEGY = "parallel"
"""The default."""


@contextmanager
def running(
    pythons: Sequence[tuple[str, str]],
    folder: Path,
    add: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> Iterator[list[System]]:
    """Run the fake provider, and Heddle as one process under each of some Pythons.

    Args:
        pythons: What each is called in the table, and its interpreter.
        folder: An empty folder.
        add: Stores more in an installation, before it starts; receives its settings.
    """
    logs = folder / "logs"
    logs.mkdir()
    upstream, *free = free_ports(1 + _PORTS * len(pythons))
    with ExitStack() as stack:
        stack.enter_context(
            started([Command("benchmarks.gateway.upstream", (str(upstream),))], logs)
        )
        systems: list[System] = []
        for number, (name, python) in enumerate(pythons):
            ports = free[number * _PORTS :][:_PORTS]
            settings = heddle_environment(ports, upstream, folder / f"system-{number}")
            asyncio.run(_fill(Path(settings["HEDDLE_KNOWLEDGE_DATA_DIR"])))
            for at, assistant in enumerate(TOOLS.items()):
                path = Path(settings["HEDDLE_ASSISTANTS_DIR"]) / f"turn{at}.yaml"
                path.write_text(_assistant(f"turn{at}", *assistant))
            add(settings)
            command = Command("heddle_devstack", environment=settings, python=python)
            processes = tuple(stack.enter_context(started([command], logs)))
            systems += (
                System(f"{name}: {turn}", ports[0], PATH, f"lamb_assistant.turn{at}", processes)
                for at, turn in enumerate(TOOLS)
            )
        yield systems


def _assistant(identifier: str, turn: str, tools: str) -> str:
    return (
        f"id: {identifier}\nname: {identifier}\nmodel: {{connector: openai, model: fake}}\n"
        f"prompt_template: '{PROMPT}'\ntools: [{tools}]\n"
        f"strategy: {_STRATEGIES.get(turn, _STRATEGY)}\n"
    )


async def _fill(folder: Path) -> None:
    embedder = RandomVectors()
    async with open_store(folder, embedder) as store:
        collections = [await store.collections.create(name) for name in SIZES]
    async with open_engine(str(folder), {}) as engine, open_collection_store(engine) as opened:
        for collection, count in zip(collections, SIZES.values(), strict=True):
            handle = await opened.open(collection)
            texts = [
                Text(f"document{at // _PER_DOCUMENT}", text)
                for at, text in enumerate(passages(count))
            ]
            async with handle.writing():
                await handle.table.append(rows(texts, vectors(count), 0, collection.id))
    async with open_store(folder, embedder) as store:
        for name in SIZES:
            await store.tidy(name)
