"""`heddle_orchestrator.prompts.simple_augment`."""

import tracemalloc

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.prompts.images import visible
from heddle_orchestrator.prompts.simple_augment import SimpleAugment
from heddle_runtime.errors import InvalidRequestError

MAX_CHARS = 2_000_000
USER, ANSWER, TOOL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT, chat_pb2.ROLE_TOOL
PICTURE = chat_pb2.ContentPart(image=chat_pb2.Media(uri="https://example.org/cat.png"))


def say(role: "chat_pb2.Role.ValueType", *texts: str) -> chat_pb2.Message:
    return chat_pb2.Message(role=role, parts=[chat_pb2.ContentPart(text=t) for t in texts])


def processed(
    assistant: assistant_pb2.Assistant, *messages: chat_pb2.Message, **slots: str
) -> list[chat_pb2.Message]:
    readable = visible(assistant, messages)
    return SimpleAugment().prompt(assistant, readable, slots, max_chars=MAX_CHARS)


def test_the_system_prompt_comes_first_and_the_history_stays() -> None:
    assistant = assistant_pb2.Assistant(system_prompt="Be brief.", prompt_template="Q:{user_input}")
    history = [say(USER, "a"), say(ANSWER, "b")]

    prompt = processed(assistant, *history, say(USER, "c"))

    assert prompt == [say(chat_pb2.ROLE_SYSTEM, "Be brief."), *history, say(USER, "Q:\n\nc\n\n")]


SEEING = assistant_pb2.Capabilities(vision=True)


def test_without_a_template_the_conversation_is_sent_as_it_is() -> None:
    message = say(USER, "see")
    message.parts.append(PICTURE)

    assert processed(assistant_pb2.Assistant(capabilities=SEEING), message) == [message]


def test_an_empty_conversation_stays_empty() -> None:
    assert (
        processed(assistant_pb2.Assistant(system_prompt="s", prompt_template="{user_input}")) == []
    )


def test_the_texts_of_a_message_are_joined_by_a_space() -> None:
    assistant = assistant_pb2.Assistant(prompt_template="{user_input}")

    assert processed(assistant, say(USER, "one", "two"))[0].parts[0].text == "\n\none two\n\n"


def test_pictures_reach_only_an_assistant_that_sees() -> None:
    message = say(USER, "what is it?")
    message.parts.append(PICTURE)
    blind = assistant_pb2.Assistant(prompt_template="{user_input}")
    seeing = assistant_pb2.Assistant(prompt_template="{user_input}", capabilities=SEEING)

    assert [part.WhichOneof("kind") for part in processed(blind, message)[0].parts] == ["text"]
    assert list(processed(seeing, message)[0].parts)[1:] == [PICTURE]


def test_without_a_template_images_reach_the_model() -> None:
    message = say(USER, "what is it?")
    message.parts.append(PICTURE)

    assert processed(assistant_pb2.Assistant(), message) == [message]


def test_with_a_template_and_without_vision_no_turn_has_an_image() -> None:
    foreign = chat_pb2.ContentPart(foreign=chat_pb2.ForeignPart(type="input_image", json="{}"))
    document = chat_pb2.ContentPart(file=chat_pb2.Media(data=b"%PDF", media_type="application/pdf"))
    turns = [say(USER, "one"), say(ANSWER), say(TOOL, "three"), say(USER, "four")]
    for turn in turns:
        turn.parts.extend([PICTURE, foreign])
    turns[-1].parts.append(document)
    before = [turn.SerializeToString() for turn in turns]

    prompt = processed(assistant_pb2.Assistant(prompt_template="Q:{user_input}"), *turns)

    parts = [part for message in prompt for part in message.parts]
    assert [part.WhichOneof("kind") for part in parts] == ["text"] * 4 + ["file"]
    assert prompt[1].parts[0].text == (
        "[An image was removed: this assistant does not read images.]"
    )
    assert [turn.SerializeToString() for turn in turns] == before


@pytest.mark.parametrize("role", [chat_pb2.ROLE_SYSTEM, chat_pb2.ROLE_DEVELOPER])
def test_instructions_after_the_question_are_not_the_question(
    role: "chat_pb2.Role.ValueType",
) -> None:
    assistant = assistant_pb2.Assistant(prompt_template="Q:{user_input}")

    prompt = processed(assistant, say(USER, "c"), say(role, "Be brief."))

    assert prompt == [say(USER, "Q:\n\nc\n\n"), say(role, "Be brief.")]


def test_the_role_of_the_rewritten_message_stays() -> None:
    assistant = assistant_pb2.Assistant(prompt_template="{user_input}")

    assert processed(assistant, say(chat_pb2.ROLE_SYSTEM, "x"))[0].role == chat_pb2.ROLE_SYSTEM


def test_results_of_a_clients_functions_reach_the_model_untouched() -> None:
    assistant = assistant_pb2.Assistant(prompt_template="Q:{user_input}")
    call = chat_pb2.Message(role=ANSWER, tool_calls=[chat_pb2.ToolCall(id="1", name="f")])
    result = chat_pb2.Message(role=TOOL, tool_call_id="1", parts=[chat_pb2.ContentPart(text="7")])

    prompt = processed(assistant, say(USER, "c"), call, result)

    assert prompt == [say(USER, "Q:\n\nc\n\n"), call, result]


def test_the_request_itself_is_not_changed() -> None:
    message = say(USER, "c")

    processed(assistant_pb2.Assistant(prompt_template="Q:{user_input}"), message)

    assert message == say(USER, "c")


@pytest.mark.parametrize("slot", ["user_input", "context"])
def test_a_prompt_that_is_too_long_is_refused_before_it_is_built(slot: str) -> None:
    assistant = assistant_pb2.Assistant(prompt_template=f"{{{slot}}}" * 20_000)
    long = "x" * 100_000
    tracemalloc.start()

    with pytest.raises(InvalidRequestError, match=r"limit is 2000000"):
        processed(assistant, say(USER, long), context=long)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 2**20


@pytest.mark.parametrize(("words", "allowed"), [(9, True), (10, True), (11, False)])
def test_the_limit_of_a_prompt_counts_all_messages(words: int, allowed: bool) -> None:
    # The question's slot adds four line breaks, twice.
    assistant = assistant_pb2.Assistant(prompt_template="{user_input}{user_input}")
    history = say(ANSWER, "y" * (MAX_CHARS - 28))

    def prompt() -> list[chat_pb2.Message]:
        return processed(assistant, history, say(USER, "x" * words))

    if allowed:
        assert len(prompt()) == 2
    else:
        with pytest.raises(InvalidRequestError):
            prompt()
