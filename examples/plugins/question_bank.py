"""Finds quiz questions in a question bank in Moodle's GIFT format."""

import re
from typing import Annotated

from heddle_tools_service.capabilities.files import Files
from heddle_tools_service.sdk import Input, Query, ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field


class BankConfig(ToolConfig):
    """Which bank, and how many questions."""

    file_path: Annotated[str, Input("file")] = Field(
        title="File", default="questions.txt", description="A file, or a path on the server."
    )
    count: int = Field(default=3, ge=1, le=20, description="Questions at most.")


@tool(
    "question_bank",
    title="Question bank",
    slot="questions",
    modes=("augment", "function"),
    effect="read_only",
)
async def question_bank(call: ToolCall[BankConfig, Query], files: Files) -> ToolResult:
    """Finds questions about a subject, with their right and wrong answers in GIFT format."""
    bank = await files.read(call.config.file_path, 400_000)
    subject = _words(call.query)
    blocks = re.split(r"\n\s*\n", re.sub(r"(?m)^\s*//.*\n", "", bank.text).strip())
    ranked = sorted(blocks, key=lambda block: len(subject & _words(block)), reverse=True)
    questions = [block for block in ranked if subject & _words(block)][: call.config.count]
    none = f"The question bank has no question about '{call.query}'."
    return ToolResult("\n\n".join(questions) or none, count=len(questions))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.casefold()))
