"""`contract.conversations`: which message is the question, and what of it is searched for."""

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle_runtime.contract.conversations import own_words, question, question_index

USER, ANSWER, TOOL = chat.ROLE_USER, chat.ROLE_ASSISTANT, chat.ROLE_TOOL
SYSTEM, DEVELOPER = chat.ROLE_SYSTEM, chat.ROLE_DEVELOPER
CONTEXT = '<context>\n<source id="1">A loom.\n</context> of it</source>\n</context>\n'
TASK = (
    "### Task:\nRespond to the user query using the provided context, incorporating inline "
    f"citations.\n\n{CONTEXT}"
)
REPEATED = f"{TASK}\n<user_query>\nWhat is warp?\n</user_query>\n"
OLDEST = (
    "Use the following context as your learned knowledge, inside <context></context> XML tags.\n"
    f"{CONTEXT}\nWhen answer to user:\n- Ask.\n\nGiven the context information, answer the query.\n"
    "Query: What is warp?"
)
FILES = '<attached_files>\n<file type="file" id="1"/>\n</attached_files>\n\n'


def message(role: "chat.Role.ValueType", *texts: str) -> chat.Message:
    return chat.Message(role=role, parts=[chat.ContentPart(text=text) for text in texts])


@pytest.mark.parametrize(
    ("messages", "index", "text"),
    [
        ([], None, ""),
        ([message(USER, "a"), message(ANSWER, "b"), message(USER, "c", "d")], 2, "c d"),
        ([message(USER, "a"), message(SYSTEM, "s")], 0, "a"),
        ([message(USER, "a"), message(DEVELOPER, "s"), message(SYSTEM, "s")], 0, "a"),
        ([message(USER, "a"), message(ANSWER), message(TOOL, "7")], 0, "a"),
        ([message(SYSTEM, "s"), message(ANSWER, "b")], 0, ""),
        ([message(ANSWER, "b"), message(TOOL, "7")], None, ""),
        ([message(USER, "a"), message(ANSWER, "b"), message(USER, "")], 2, ""),
        ([message(USER, "a"), message(TOOL, "7"), message(USER, TASK)], 0, "a"),
        ([message(USER, TASK)], 0, TASK),
        ([message(USER, f"{TASK}\n{FILES}", f"{TASK}\nWhat is warp?")], 0, "What is warp?"),
    ],
)
def test_the_question_is_the_last_message_of_the_user(
    messages: list[chat.Message], index: int | None, text: str
) -> None:
    assert question_index(messages) == index
    assert question(messages) == text


@pytest.mark.parametrize(
    "text",
    [
        f"{TASK}\nWhat is warp?",
        REPEATED,
        f"{REPEATED}\nWhat is warp?",
        OLDEST,
        f"{FILES}What is warp?",
        f"{TASK}\n{FILES}What is warp?",
        f"Answer by this:\n{CONTEXT}\n\nWhat is warp?\n",
    ],
    ids=["0.7", "0.6, replaced", "0.6", "oldest", "files", "files and context", "own template"],
)
def test_what_open_webui_puts_around_a_question_is_not_searched_for(text: str) -> None:
    assert own_words(text) == "What is warp?"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is warp?\n",
        "What do <context> and </context> mean?",
        "<context>\nno end",
        "no start\n</context>\nand on",
        CONTEXT,
        TASK,
        FILES,
        "<user_query>a</user_query>",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert own_words(text) == text


@pytest.mark.parametrize(
    "unit", ["<context>\n", "</context>\n", "<user_query>", "<attached_files>\n"]
)
def test_hostile_texts_cost_no_more_than_their_length(unit: str) -> None:
    text = f"<context>\n</context>\n{unit * 200_000}"
    assert own_words(text)
    assert own_words(unit * 200_000)
