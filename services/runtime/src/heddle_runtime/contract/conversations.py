"""Finds the question of a conversation, for prompts, tools, the agent and routes alike."""

import re
from collections.abc import Sequence

from heddle.chat.v1 import chat_pb2 as chat

_ANSWERS = (chat.ROLE_ASSISTANT, chat.ROLE_TOOL)
RAG_TASK = "### Task:\nRespond to the user query using the provided context"
"""The beginning of Open WebUI's default RAG template. Its background tasks begin otherwise."""
# What Open WebUI puts before a question about a file: its template, then the question as the user
# wrote it. Templates up to 0.6 repeat the question between the tags below; the oldest end with it.
_CONTEXT = re.compile(r"^[ \t]*<context>[ \t\r]*$", re.MULTILINE)
_CONTEXT_END = re.compile(r"^[ \t]*</context>[ \t\r]*$", re.MULTILINE)
_REPEATED, _REPEATED_END = "<user_query>", "</user_query>"
_OLDEST = "Use the following context as your learned knowledge"
_LABEL = re.compile(r"^[ \t]*Query:", re.MULTILINE)
_FILES = re.compile(r"\s*<attached_files>\n.*?\n</attached_files>(?:\n|\Z)", re.DOTALL)


def question_index(messages: Sequence[chat.Message]) -> int | None:
    """Return the index of the message with the question; None if there is none.

    That is the last message of the user. Instructions, answers and tool results after it are not
    the question. Nor is a template of Open WebUI without a question, which follows tool results.
    In a conversation without a user a template replaces the last message that is no answer and no
    tool result.
    """
    last = None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == chat.ROLE_USER:
            if not _is_template_only(message):
                return index
            last = index
    if last is not None:
        return last
    others = (i for i in range(len(messages) - 1, -1, -1) if messages[i].role not in _ANSWERS)
    return next(others, None)


def question(messages: Sequence[chat.Message]) -> str:
    """Return the user's question, without templates around it; empty if there is none."""
    index = question_index(messages)
    if index is None or messages[index].role != chat.ROLE_USER:
        return ""
    return _user_text(messages[index])


def questions(messages: Sequence[chat.Message]) -> list[str]:
    """Return the user's questions, oldest first, without templates around them.

    The last one is the question of the conversation. Messages without text are omitted, except the
    last one.
    """
    last = question_index(messages)
    if last is None or messages[last].role != chat.ROLE_USER:
        return []
    earlier = (each for each in messages[:last] if each.role == chat.ROLE_USER)
    texts = [_user_text(each) for each in earlier if not _is_template_only(each)]
    return [*filter(None, texts), _user_text(messages[last])]


def message_text(message: chat.Message) -> str:
    """Return the texts of a message, joined by a space."""
    return " ".join(part.text for part in message.parts if part.HasField("text"))


def own_words(text: str) -> str:
    """Return a user's text without the template and the file list that Open WebUI adds to it.

    Text with no such addition is returned unchanged. So is a template without a question.
    """
    return _own(text) or text


def _user_text(message: chat.Message) -> str:
    texts = [part.text for part in message.parts if part.HasField("text")]
    return " ".join(filter(None, map(_own, texts))) or " ".join(texts)


def _own(text: str) -> str:
    rest = _after_template(text)
    files = _FILES.match(rest)
    return rest[files.end() :].strip() if files else rest


def _after_template(text: str) -> str:
    """Return the text after the template, or the question in the template if none follows."""
    if "</context>" not in text or not (start := _CONTEXT.search(text)):
        return text
    end = max((match.end() for match in _CONTEXT_END.finditer(text, start.end())), default=None)
    if end is None:
        return text
    rest = text[end:]
    _, repeats, repeated = rest.partition(_REPEATED)
    if repeats and _REPEATED_END in repeated:
        repeated, _, following = repeated.partition(_REPEATED_END)
        rest = following.strip() or repeated
    elif text.lstrip().startswith(_OLDEST) and (label := _LABEL.search(rest)):
        rest = rest[label.end() :]
    return rest.strip()


def _is_template_only(message: chat.Message) -> bool:
    if len(message.parts) != 1:
        return False
    text = message.parts[0].text
    return text.startswith(RAG_TASK) and not _own(text)
