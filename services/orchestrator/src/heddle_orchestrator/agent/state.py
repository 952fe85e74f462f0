"""The state of one agent run: the question, the tools that ran, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.conversations import question, questions
from heddle_runtime.contract.frontend_payloads import written

from heddle_orchestrator.agent.environment import Environment
from heddle_orchestrator.agent.word_matching import content_words, word_set, words

_MAX_QUESTIONS = 4
_MAX_CHARS = 1_000
"""The maximum length of the earlier questions together."""
_MIN_CONTENT_WORDS = 3
"""A question with fewer words is about something that an earlier one named."""
# Pronouns and the like in the languages of Heddle's users, without those that have another common
# meaning in one of these languages, such as "that", "there", "es", "le" and "sie".
_REFERRING_WORDS = word_set(
    """
    it its they them their theirs he him his she her hers these those then ones other others another
    else same too also either instead again
    él ella ello ellos ellas esto eso ese esa esos esas aquel aquella allí ahí entonces otro otra
    otros otras mismo misma también tampoco además
    ell ells elles això allà llavors altre altra altres mateix mateixa també tampoc
    elle ils lui leur leurs cela ça ceci celui celle ceux celles alors autre autres même aussi
    er ihm ihn seine seinen jener jene dort dann andere anderen anderer anderes gleiche selbe auch
    """
)


def question_in_conversation(questions: Sequence[str]) -> str:
    """Return the last question, after the earlier ones that it refers back to, in their order.

    A question refers back if it has few words of content or contains a pronoun. It contains words
    of the user only.

    Args:
        questions: The user's questions, oldest first.
    """
    if not questions:
        return ""
    chain = [questions[-1]]
    chars = 0
    for earlier in reversed(questions[:-1]):
        chars += len(earlier)
        if len(chain) == _MAX_QUESTIONS or chars > _MAX_CHARS or not _refers_back(chain[-1]):
            break
        chain.append(earlier)
    return " ".join(reversed(chain))


def _refers_back(question: str) -> bool:
    few = len(content_words(question)) < _MIN_CONTENT_WORDS
    return few or not _REFERRING_WORDS.isdisjoint(words(question))


@dataclass(frozen=True, slots=True)
class PastRun:
    """A tool that ran earlier in this run."""

    tool: str
    inputs: Mapping[str, Any]
    new_objects: int
    failed: bool
    recoverable: bool = False
    """Whether the same run may succeed later. Only of a failed one."""


@dataclass(slots=True)
class State:
    """The state of one run. It is dropped at the end of the run."""

    prompt: str
    """The user's question."""
    query: str
    """The question, preceded by the earlier questions to which it refers. Tools search for it."""
    messages: Sequence[chat_pb2.Message] = ()
    """The conversation as models may read it, including the question."""
    iterations: int = 0
    """The number of decisions that were executed."""
    environment: Environment = field(default_factory=Environment)
    history: list[PastRun] = field(default_factory=list)
    fired: set[tuple[str, str]] = field(default_factory=set)
    """The triggers that have run a tool: its binding and the cause."""
    sent_passages: Sequence[str] = ()
    """The objects of the environment, as the model that answers reads them."""
    summaries: int = 0
    """The number of summaries of the environment."""

    def used(self, tool: str) -> bool:
        """Return whether a tool has run, successfully or not."""
        return any(past.tool == tool for past in self.history)

    def to_proto(self) -> tool_pb2.TreeData:
        """Return a copy for tools."""
        return tool_pb2.TreeData(
            user_prompt=self.prompt,
            query=self.query,
            iterations=self.iterations,
            environment=self.environment.to_proto(),
            history=[
                tool_pb2.PastRun(
                    tool=past.tool,
                    inputs_json=written(past.inputs),
                    new_objects=past.new_objects,
                    failed=past.failed,
                )
                for past in self.history
            ],
        )


def initial_state(
    messages: Sequence[chat_pb2.Message], visible: Sequence[chat_pb2.Message]
) -> State:
    """Return the state of a new run that answers a conversation.

    Args:
        messages: The conversation.
        visible: The conversation as models may read it.
    """
    return State(question(messages), question_in_conversation(questions(messages)), visible)
