"""OpenAI's SDK as a client of the Heddle that the tests of a module share."""

from typing import Any

from openai import AsyncOpenAI


async def answered(
    client: AsyncOpenAI, assistant: str, messages: list[Any], *, stream: bool, **more: Any
) -> Any:
    """Return the message that comes back."""
    name = f"lamb_assistant.{assistant}"
    if not stream:
        completion = await client.chat.completions.create(model=name, messages=messages, **more)
        return completion.choices[0].message
    async with client.chat.completions.stream(model=name, messages=messages, **more) as events:
        async for _ in events:
            continue
        return (await events.get_final_completion()).choices[0].message
