"""`heddle.assistant.v1.PromptService`."""

from functools import partial

from heddle.assistant.v1 import prompts_pb2 as pb
from heddle.assistant.v1 import prompts_pb2_grpc as pb_grpc
from heddle_conversion.identifiers import timestamp
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import may_read

from heddle_assistants.field_checks import refuse_nul, require
from heddle_assistants.library.store import PROMPT, Columns, Library, Row, check_owner
from heddle_assistants.rubrics.content import LARGEST

_TEXTS = ("title", "description", "system_prompt", "prompt_template")


class PromptServicer(pb_grpc.PromptServiceServicer):
    """Translates between the contract and the table, and enforces the permissions."""

    def __init__(self, prompts: Library) -> None:
        self._prompts = prompts

    async def GetPrompt(
        self, request: pb.GetPromptRequest, context: Context
    ) -> pb.GetPromptResponse:
        """Return a prompt."""
        row = await self._prompts.get(request.id, partial(may_read, caller().identity))
        return pb.GetPromptResponse(prompt=_message(row), etag=row.etag)

    async def ListPrompts(
        self, request: pb.ListPromptsRequest, context: Context
    ) -> pb.ListPromptsResponse:
        """List the prompts that the caller may read."""
        own = request.selection == pb.PROMPT_SELECTION_OWN
        shown, token = await self._prompts.page(request, _message, own=own)
        return pb.ListPromptsResponse(prompts=shown, next_page_token=token)

    async def CreatePrompt(
        self, request: pb.CreatePromptRequest, context: Context
    ) -> pb.CreatePromptResponse:
        """Store a new prompt."""
        columns = _columns(request.prompt)
        row = await self._prompts.make(caller().identity, request.prompt.owner, lambda *_: columns)
        return pb.CreatePromptResponse(prompt=_message(row), etag=row.etag)

    async def UpdatePrompt(
        self, request: pb.UpdatePromptRequest, context: Context
    ) -> pb.UpdatePromptResponse:
        """Replace a prompt."""
        prompt = request.prompt
        require(bool(prompt.id), "prompt.id", "is required")
        columns = _columns(prompt)

        def change(row: Row, _: int) -> Columns:
            old = {"title": row.title, "description": row.description, "is_public": row.published}
            old |= zip(PROMPT.contents, row.contents, strict=True)
            return {} if old == columns else columns

        row = await self._prompts.change(prompt.id, caller().identity, request.etag, change)
        return pb.UpdatePromptResponse(prompt=_message(row), etag=row.etag)

    async def DeletePrompt(
        self, request: pb.DeletePromptRequest, context: Context
    ) -> pb.DeletePromptResponse:
        """Delete a prompt for good."""
        await self._prompts.delete(request.id, caller().identity, request.etag)
        return pb.DeletePromptResponse()


def _columns(prompt: pb.Prompt) -> dict[str, object]:
    check_owner(PROMPT, prompt.owner)
    texts = {name: getattr(prompt, name) for name in _TEXTS}
    refuse_nul(texts, "prompt.")
    require(bool(prompt.title.strip()), "prompt.title", "is required")
    for name, text in texts.items():
        require(len(text) <= LARGEST, f"prompt.{name}", f"must have at most {LARGEST} characters")
    return {**texts, "is_public": prompt.public}


def _message(row: Row) -> pb.Prompt:
    system_prompt, prompt_template = row.contents
    return pb.Prompt(
        id=row.id,
        owner=row.owner,
        organization=row.organization,
        public=row.published,
        title=row.title,
        description=row.description or "",
        system_prompt=system_prompt,
        prompt_template=prompt_template,
        create_time=timestamp(row.created_at),
        update_time=timestamp(row.updated_at),
    )
