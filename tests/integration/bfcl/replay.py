"""A model that writes the leaderboard's calls as text, and Heddle between it and the APIs.

`PYTHONPATH=tests python -m integration.bfcl.replay` tells how all conversations of all categories
end, in each format, compared with the leaderboard's own runs.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from connector.toolcalls.bfcl import WRITERS
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.contract.limits import MAX_TOOL_ROUNDS
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.telemetry import logs
from integration.bfcl.apis import PLUGIN, WORLDS, begin, methods, plain, tool_of
from integration.bfcl.scenarios import CATEGORIES, Scenario, Turn, scenarios
from integration.functions.upstream import Delta, Upstream, says, serving
from integration.whole import whole

CONTRACT = pb.DESCRIPTOR.services_by_name["OrchestratorService"]
_AT_ONCE = 8
_LONGEST_PIECE = 12


@dataclass(frozen=True)
class Replayed:
    """What became of a conversation."""

    scenario: Scenario
    calls: int
    wrong: str
    """What differs from the leaderboard's own run. Empty if nothing does."""


@dataclass
class Replays:
    """Replays conversations against a running Heddle, several at once."""

    stub: "pb_grpc.OrchestratorServiceAsyncStub"
    upstreams: dict[str, Upstream]
    """The scripts of the models, by the name of the conversation."""

    async def all_of(self, chosen: Sequence[Scenario], style: str) -> list[Replayed]:
        """Replay conversations.

        Args:
            chosen: The conversations.
            style: How the model writes calls: one of `WRITERS`.
        """
        free = asyncio.Semaphore(_AT_ONCE)

        async def one(scenario: Scenario) -> Replayed:
            async with free:
                return await self.one(scenario, style)

        return await asyncio.gather(*map(one, chosen))

    async def one(self, scenario: Scenario, style: str) -> Replayed:
        """Replay a conversation and compare its end."""
        name = f"{scenario.name}_{style}"
        begin(name, scenario.apis, scenario.initial, long=scenario.long)
        upstream = self.upstreams[name] = Upstream(list(_script(scenario, style)))
        said: list[chat_pb2.Message] = []
        for turn in scenario.turns:
            said.append(_message(chat_pb2.ROLE_USER, turn.says))
            request = pb.RunCompletionRequest(
                assistant=_assistant(scenario, turn, name), messages=said
            )
            run = self.stub.RunCompletion(request, **new_call_options(60))
            events = [event async for response in run for event in response.events]
            answer = "".join(event.text_delta for event in events)
            if answer.split() != ["Done."]:
                return Replayed(scenario, len(_told(upstream)), f"the answer is {answer!r}")
            said.append(_message(chat_pb2.ROLE_ASSISTANT, answer))
        objects, results = scenario.end
        wrong = ""
        told, wanted = _told(upstream), [_seen(result) for result in results]
        if told != wanted:
            wrong = f"the model read {_first(told, wanted)}"
        elif plain(WORLDS[name]) != plain(objects):
            wrong = "the states differ"
        return Replayed(scenario, len(results), wrong)


@asynccontextmanager
async def replaying(folder: Path) -> AsyncGenerator[Replays]:
    """Run Heddle with the APIs as tools, and a provider that plays all the models."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "leaderboard.py").write_text(PLUGIN)
    upstreams: dict[str, Upstream] = {}
    async with serving(lambda model: upstreams[model]) as url:
        environment = {
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "test",
            "HEDDLE_TOOLS_SANDBOX": "off",  # the tools change objects of this process
        }
        with patch.dict(os.environ, environment):
            async with whole(folder) as heddle, channel(heddle.stack.orchestrator, CONTRACT) as to:
                yield Replays(pb_grpc.OrchestratorServiceStub(to), upstreams)


def _script(scenario: Scenario, style: str) -> Iterator[Sequence[Delta]]:
    """Yield the model's messages in pieces: one for each call, as it may need what is before."""
    chance = random.Random(f"{scenario.name} {style}")  # noqa: S311 - the same pieces each time
    for turn in scenario.turns:
        for call in turn.calls:
            yield list(_cut(WRITERS[style]([scenario.read(call)]), chance))
        yield [says("Done.")]


def _cut(text: str, chance: random.Random) -> Iterator[Delta]:
    while text:
        size = chance.randint(1, _LONGEST_PIECE)
        yield says(text[:size])
        text = text[size:]


def _assistant(scenario: Scenario, turn: Turn, world: str) -> assistant_pb2.Assistant:
    config = to_struct({"world": world})
    return assistant_pb2.Assistant(
        model=assistant_pb2.ModelRef(connector="openai", model=world),
        tools=[
            assistant_pb2.ToolBinding(
                tool=tool_of(api, method["name"]),
                mode=assistant_pb2.MODE_FUNCTION,
                config=config,
                disabled=method["name"] in turn.missing,
            )
            for api in scenario.apis
            for method in methods(api)
        ],
        max_tool_rounds=MAX_TOOL_ROUNDS,
    )


def _message(role: chat_pb2.Role.ValueType, text: str) -> chat_pb2.Message:
    return chat_pb2.Message(role=role, parts=[chat_pb2.ContentPart(text=text)])


def _told(upstream: Upstream) -> list[str]:
    """Return the results that the model got to read."""
    ends = [body["messages"][-1] for body in upstream.bodies]
    return [message["content"] for message in ends if message["role"] == "tool"]


def _seen(result: str) -> str:
    failed = result.removeprefix("Error during execution: ")
    if failed == result:
        return result
    return json.dumps({"error": failed, "kind": "failed"}, ensure_ascii=False)


def _first(found: Sequence[str], wanted: Sequence[str]) -> str:
    pairs = [*zip(found, wanted, strict=False), (f"{len(found)} of them", f"{len(wanted)}")]
    ours, theirs = next(pair for pair in pairs if pair[0] != pair[1])
    return f"{ours[:200]!r} instead of {theirs[:200]!r}"


async def _tell() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with replaying(Path(folder)) as replays:
            for category in CATEGORIES:
                chosen = scenarios(category)
                for style in WRITERS:
                    found = await replays.all_of(chosen, style)
                    wrong = [each for each in found if each.wrong]
                    calls = sum(each.calls for each in found)
                    sys.stdout.write(
                        f"{category} in {style}: {len(found) - len(wrong)} of {len(found)} "
                        f"conversations, {calls} calls\n"
                    )
                    for each in wrong:
                        sys.stdout.write(f"  {each.scenario.name}: {each.wrong}\n")


if __name__ == "__main__":
    logs.configure("replay", "ERROR")
    asyncio.run(_tell())
