"""What LAMB's users have written: an import stores it as theirs, as if they had written it here."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial

from heddle.account.v1 import account_pb2
from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub
from heddle.assistant.v1 import prompts_pb2, questions_pb2
from heddle.assistant.v1.prompts_pb2_grpc import PromptServiceAsyncStub
from heddle.assistant.v1.questions_pb2_grpc import QuestionServiceAsyncStub
from heddle.conversation.v1.conversation_pb2_grpc import ConversationServiceAsyncStub
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import AlreadyExistsError, InvalidRequestError
from heddle_runtime.identity.permissions import scopes_of

from heddle_migration_service.lamb import assistants, users
from heddle_migration_service.lamb.chats import conversation
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.scenarios import saved_question, verdict
from heddle_migration_service.lamb.stored_rows import as_owner, stored_rows
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.users import missing_users
from heddle_migration_service.lamb.values import LambRow
from heddle_migration_service.lti.stored_links import Imported, LtiTexts

_TEMPLATES, _CHATS = "prompt_templates", "lamb_chats"
_SCENARIOS, _USER_LISTS = "assistant_test_scenarios", "bulk_import_logs"
CONTENT_COLUMNS: Mapping[str, Sequence[str]] = {
    _TEMPLATES: (
        *("name", "owner_email", "description", "system_prompt", "prompt_template"),
        *("is_shared", "organization_id", "created_at"),
    ),
    _CHATS: ("title", "user_id", "assistant_id", "chat", "archived", "created_at", "updated_at"),
    _SCENARIOS: ("title", "assistant_id", "messages", "expected_behavior", "created_at"),
    _USER_LISTS: ("admin_email", "operation_type", "organization_id", "details", "created_at"),
}
"""What is read of each table. People know its rows by the first column."""
_BRACES = re.compile(r"\{(?:user_input|context)\}|[{}]")
_PAGE = 1000
_ACTOR = "migration"
_NAMED = 20


@dataclass(frozen=True, slots=True)
class _Source:
    """A LAMB database that is imported."""

    tables: LambTables
    slugs: OrganizationSlugs
    dry_run: bool

    async def user(self, column: str, value: int | str) -> tuple[str, str]:
        """Return the e-mail address of a user, and the slug of the organisation.

        Raises:
            InvalidRequestError: LAMB has no such user.
        """
        columns = ("user_email", "organization_id")
        for user in await self.tables.matching(users.TABLE, column, [value], columns):
            if email := canonical_email(user.text("user_email") or ""):
                return email, self.slugs.of(user)
        raise InvalidRequestError("Its owner is no user of LAMB.")


@dataclass(frozen=True, slots=True)
class ContentImport:
    """Stores it row by row. What was imported once stays as its owner has changed it since."""

    texts: LtiTexts
    prompts: PromptServiceAsyncStub
    conversations: ConversationServiceAsyncStub
    questions: QuestionServiceAsyncStub
    accounts: AccountServiceAsyncStub

    async def run(
        self, tables: LambTables, slugs: OrganizationSlugs, *, dry_run: bool
    ) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Yield the progress of each table."""
        source = _Source(tables, slugs, dry_run)
        stores = {
            _TEMPLATES: self._store_template,
            _CHATS: self._store_chat,
            _SCENARIOS: self._store_scenario,
            _USER_LISTS: self._store_user_list,
        }
        for table, columns in CONTENT_COLUMNS.items():
            store = partial(self._store, source, table, stores[table])
            async with aclosing(stored_rows(tables, table, columns, store)) as responses:
                async for response in responses:
                    yield response

    async def _store(
        self,
        source: _Source,
        table: str,
        store: Callable[[_Source, LambRow], Awaitable[None]],
        row: LambRow,
    ) -> bool:
        """Store a row once, and return whether it is new."""
        mark = table, row.text("id") or "", row.text("created_at") or ""
        if await self.texts.get(Imported, *mark):
            return False
        await store(source, row)
        if not source.dry_run:
            await self.texts.put(Imported(), *mark)
        return True

    async def _store_template(self, source: _Source, row: LambRow) -> None:
        owner = await source.user("user_email", row.text("owner_email") or "")
        template = row.text("prompt_template") or ""
        prompt = prompts_pb2.Prompt(
            title=row.text("name") or "",
            description=row.text("description") or "",
            system_prompt=row.text("system_prompt") or "",
            prompt_template=_BRACES.sub(lambda it: it[0] if it[0][1:] else it[0] * 2, template),
            public=row.flag("is_shared"),
        )
        if prompt.prompt_template != template:
            row.notes.append("Its other braces are doubled, so that they stay text.")
        if not source.dry_run and not await self._has(owner, prompt):
            request = prompts_pb2.CreatePromptRequest(prompt=prompt)
            await as_owner(*owner, self.prompts.CreatePrompt, request)

    async def _store_chat(self, source: _Source, row: LambRow) -> None:
        owner = await source.user("id", row.whole("user_id") or 0)
        request = conversation(row)
        if not source.dry_run:
            with suppress(AlreadyExistsError):  # an import that was interrupted has stored it
                await as_owner(*owner, self.conversations.CreateConversation, request)

    async def _store_scenario(self, source: _Source, row: LambRow) -> None:
        number = row.whole("assistant_id") or 0
        columns = ("owner", "organization_id")
        known = await source.tables.matching(assistants.TABLE, "id", [number], columns)
        if not known:
            raise InvalidRequestError("LAMB has no such assistant any more.")
        question = saved_question(row, await verdict(source.tables, row.text("id") or ""))
        if source.dry_run:
            return
        owner = canonical_email(known[0].text("owner") or ""), source.slugs.of(known[0])
        get = questions_pb2.GetQuestionsRequest(id=str(number))
        stored = await as_owner(*owner, self.questions.GetQuestions, get)
        if question not in stored.questions:
            update = questions_pb2.UpdateQuestionsRequest(
                id=str(number), questions=[*stored.questions, question], etag=stored.etag
            )
            await as_owner(*owner, self.questions.UpdateQuestions, update)

    async def _store_user_list(self, source: _Source, row: LambRow) -> None:
        """Store the users of a list whose accounts LAMB could not create, as disabled ones."""
        organization, added = source.slugs.of(row), list[str]()
        for email, name in missing_users(row):
            known = await source.tables.matching(users.TABLE, "user_email", {email}, ())
            if known or email in added:
                continue
            added.append(email)
            request = account_pb2.PutUserRequest(
                organization=organization,
                email=email,
                name=name,
                role="member",
                disabled=True,
                only_new=True,
            )
            if not source.dry_run:
                with suppress(AlreadyExistsError):
                    method, scopes = self.accounts.PutUser, scopes_of("admin")
                    await as_owner(_ACTOR, organization, method, request, scopes)
        if added:
            row.notes.append(
                "LAMB could not create the accounts of these users of the list. They are here, "
                f"as disabled members: {', '.join(added[:_NAMED])}"
                + (f" and {len(added) - _NAMED} more." if added[_NAMED:] else ".")
            )

    async def _has(self, owner: tuple[str, str], prompt: prompts_pb2.Prompt) -> bool:
        """Return whether an import that was interrupted has stored a prompt."""
        request = prompts_pb2.ListPromptsRequest(
            selection=prompts_pb2.PROMPT_SELECTION_OWN, page_size=_PAGE
        )
        while True:
            page = await as_owner(*owner, self.prompts.ListPrompts, request)
            if any(_texts(each) == _texts(prompt) for each in page.prompts):
                return True
            if not page.next_page_token:
                return False
            request.page_token = page.next_page_token


def _texts(prompt: prompts_pb2.Prompt) -> tuple[str, str, str]:
    return prompt.title, prompt.system_prompt, prompt.prompt_template
