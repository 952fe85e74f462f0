"""`PromptService`: what is saved comes back, and edits are not lost."""

from typing import Any

import pytest
from assistants.serving import ADA, Service
from assistants.stored import keep_user
from heddle.assistant.v1 import prompts_pb2 as pb
from heddle_runtime.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
TUTOR: dict[str, Any] = {
    "title": "Kind tutor",
    "description": "Helps without solving.",
    "system_prompt": "You help students.",
    "prompt_template": "{context}\n\n{user_input}",
}


async def test_what_is_saved_comes_back_and_is_replaced(service: Service) -> None:
    ada = service.as_(ADA)
    created = await ada.create_prompt(**TUTOR, public=True)
    prompt = created.prompt
    assert {name: getattr(prompt, name) for name in TUTOR} == TUTOR
    assert (prompt.owner, prompt.organization, prompt.public) == (ADA.subject, "uni", True)
    assert prompt.create_time == prompt.update_time
    read = await ada.ask(ada.prompts.GetPrompt, pb.GetPromptRequest(id=prompt.id))
    assert (read.prompt, read.etag) == (prompt, created.etag)
    same = await ada.update_prompt(prompt, created.etag)
    assert (same.prompt, same.etag) == (prompt, created.etag)

    changed = await ada.update_prompt(pb.Prompt(id=prompt.id, title="Tutor", owner=BOB.subject))
    assert changed.etag != created.etag
    assert (changed.prompt.owner, changed.prompt.public) == (ADA.subject, False)
    assert (changed.prompt.title, changed.prompt.system_prompt) == ("Tutor", "")
    with pytest.raises(ConflictError, match=prompt.id):
        await ada.update_prompt(prompt, created.etag)


async def test_what_is_shared_is_read_by_colleagues_and_changed_by_administrators(
    service: Service,
) -> None:
    ada, bob, chair = (service.as_(each) for each in (ADA, BOB, CHAIR))
    shared = (await ada.create_prompt(**TUTOR, public=True)).prompt
    await ada.create_prompt(**TUTOR)
    assert await bob.listed_prompts() == [shared.id]
    with pytest.raises(NotFoundError):
        await bob.update_prompt(shared)
    shared.title = "Corrected"
    await chair.update_prompt(shared)
    read = await bob.ask(bob.prompts.GetPrompt, pb.GetPromptRequest(id=shared.id))
    assert read.prompt.title == "Corrected"


async def test_only_an_administrator_makes_one_for_somebody_else(
    service: Service, database: Database
) -> None:
    await keep_user(database, BOB.subject, "uni", 5)
    with pytest.raises(PermissionDeniedError):
        await service.as_(ADA).create_prompt(**TUTOR, owner=BOB.subject)
    created = await service.as_(CHAIR).create_prompt(**TUTOR, owner=BOB.subject)
    assert created.prompt.owner == BOB.subject


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no title": ({"title": " "}, "prompt.title"),
    "NUL": ({"system_prompt": "a\0b"}, "prompt.system_prompt"),
    "long instructions": ({"system_prompt": "x" * 262_145}, "prompt.system_prompt"),
    "a long template": ({"prompt_template": "x" * 262_145}, "prompt.prompt_template"),
    "a long address": ({"owner": "x" * 321}, "prompt.owner"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_wrong_is_refused_with_its_field(service: Service, case: str) -> None:
    members, field = REFUSED[case]
    with pytest.raises(InvalidRequestError) as refused:
        await service.as_(ADA).create_prompt(**(TUTOR | members))
    assert [each.field for each in refused.value.violations] == [field]
    assert await service.as_(ADA).listed_prompts() == []
