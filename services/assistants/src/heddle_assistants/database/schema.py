"""The tables, as a new database gets them.

Once a release has made tables, a change here needs a revision in `revisions/versions` too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heddle_runtime.storage.database.columns import Amount, Identifier, Seconds, Untyped
from heddle_runtime.storage.database.schema import Schema, new_metadata
from heddle_runtime.storage.database.sqlite import ONLY_NUMBERS
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    delete,
    false,
    text,
    true,
)

metadata = new_metadata()


def _id() -> Column[int]:
    # An id given away once is never given again: old links and keys would reach a stranger's row.
    # Given ids are kept (imported rows bring theirs); see `identities.py` for what follows.
    return Column("id", Identifier, Identity(always=False), primary_key=True)


def _of_organization() -> Column[int]:
    return Column("organization_id", ForeignKey("organizations.id"), nullable=False)


def _at(name: str, *, optional: bool = False) -> Column[int]:
    return Column(name, Seconds, nullable=optional)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def _flag(name: str, *, default: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=true() if default else false())


def _count(name: str, first: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(first)))


def _amount(name: str) -> Column[int]:
    return Column(name, Amount, nullable=False)


def _amounts() -> Iterator[Column[int]]:
    tokens = ("prompt_tokens", "cached_tokens", "completion_tokens", "unpriced_tokens")
    return map(_amount, ("requests", "usage_unknown", *tokens, "cost_picos"))


organizations = Table(
    "organizations",
    metadata,
    _id(),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    _flag("is_system"),
    Column("status", Text, nullable=False, server_default="active"),
    Column("config", Text, nullable=False, server_default="{}"),
    _at("created_at"),
    _at("updated_at"),
    sqlite_autoincrement=True,
)

users = Table(
    "users",
    metadata,
    _id(),
    _of_organization(),
    Column("email", Text, nullable=False),
    _flag("home", default=True),
    _text("name"),
    Column("role", Text, nullable=False),
    _flag("enabled", default=True),
    _flag("operator"),
    _at("created_at"),
    _at("updated_at"),
    CheckConstraint("role IN ('admin', 'creator', 'member')", name="role"),
    UniqueConstraint("organization_id", "email"),
    Index(None, "organization_id", "id"),
    sqlite_autoincrement=True,
)
Index(
    "ix_users_home_email",
    users.c.email,
    unique=True,
    sqlite_where=users.c.home,
    postgresql_where=users.c.home,
)
"""`email` is in canonical form. `home` says whether the organisation is the user's home, which the
operator or an import decides; a user is in other organisations by the word of their administrators,
and that has no effect outside of them. `operator` is true of the account that was made with the
link of the first operator. No request changes it."""

setup = Table(
    "setup",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _at("completed_at"),
)
"""One row as soon as the first operator has made an account. It stays without the account."""

assistants = Table(
    "assistants",
    metadata,
    _id(),
    _of_organization(),
    Column("name", Text, nullable=False),
    _text("title"),
    Column("description", Text),
    Column("owner", Text, nullable=False),
    Column("metadata", Text),
    Column("system_prompt", Text),
    Column("prompt_template", Text),
    Column("rag_endpoint", Text),
    Column("rag_top_k", Untyped),
    Column("rag_collections", Text),
    Column("pre_retrieval_endpoint", Text),
    Column("post_retrieval_endpoint", Text),
    _flag("published"),
    Column("group_id", Text),
    Column("group_name", Text),
    Column("oauth_consumer_name", Text),
    _at("published_at", optional=True),
    _at("created_at"),
    _at("updated_at"),
    _count("revision", 1),
    _at("deleted_at", optional=True),
    _text("sharing"),
    UniqueConstraint("organization_id", "name", "owner"),
    # Each ends in the id, by which lists are paged.
    Index(None, "organization_id", "id"),
    Index(None, "organization_id", "published", "id"),
    Index(None, "owner", "id"),
    Index(None, "name", "id"),
    sqlite_autoincrement=True,
)
"""`metadata` is stored byte for byte as it came; `owner` is an email. `sharing` repeats the
rows of `assistant_users`, so that reading one assistant needs one row."""

assistant_users = Table(
    "assistant_users",
    metadata,
    Column("email", Text, primary_key=True),
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    _flag("may_edit"),
    Index(None, "assistant_id"),
)
"""The users with whom assistants are shared. `sharing/store.py` writes both."""

originals = Table(
    "originals",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Column("metadata", Text),
    Column("from_version", Integer, nullable=False),
    Column("to_version", Integer, nullable=False),
    Column("migrated", Text, nullable=False),
    _at("created_at"),
)
"""Documents before their migration, byte for byte, and what the migration made of each."""

assistant_versions = Table(
    "assistant_versions",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _at("saved_at"),
    _text("author"),
    _text("action"),
    _text("changed"),
    _count("restored_number"),
    Column("document", LargeBinary, nullable=False),
    _text("note"),
)
"""What assistants were after each change. `number` is the `revision` that the row had then,
`changed` a JSON array of names, `document` what `snapshots.py` makes of the row, `note` what the
author should look at."""

saved_questions = Table(
    "saved_questions",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    _count("revision"),
    _text("questions"),
)
"""Questions of authors: `questions` is a JSON array of titles and texts."""

rubrics = Table(
    "rubrics",
    metadata,
    _id(),
    Column("rubric_id", Text, nullable=False, unique=True),
    _of_organization(),
    Column("owner_email", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text),
    Column("rubric_data", Text, nullable=False),
    _flag("is_public"),
    _flag("is_showcase"),
    Column("parent_rubric_id", Text),
    _at("created_at"),
    _at("updated_at"),
    Index(None, "organization_id", "id"),
    Index(None, "owner_email", "id"),
    sqlite_autoincrement=True,
)

prompts = Table(
    "prompts",
    metadata,
    _id(),
    Column("prompt_id", Text, nullable=False, unique=True),
    _of_organization(),
    Column("owner_email", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text),
    _text("system_prompt"),
    _text("prompt_template"),
    _flag("is_public"),
    _at("created_at"),
    _at("updated_at"),
    Index(None, "organization_id", "id"),
    Index(None, "owner_email", "id"),
    sqlite_autoincrement=True,
)
"""Instructions and prompt templates that users save to insert them into their assistants."""

knowledge_bases = Table(
    "knowledge_bases",
    metadata,
    _id(),
    Column("kb_id", Text, nullable=False, unique=True),
    _of_organization(),
    Column("owner_email", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    _flag("is_shared"),
    _at("created_at"),
    _at("updated_at"),
    Index(None, "organization_id", "id"),
    Index(None, "owner_email", "id"),
    sqlite_autoincrement=True,
)
"""The imported registry; `kb_id` is what assistants and the knowledge base server call one."""

knowledge_stores = Table(
    "knowledge_stores",
    metadata,
    # Made of `store_id`, because imported stores have no numbers.
    Column("id", Identifier, primary_key=True, autoincrement=False),
    Column("store_id", Text, nullable=False, unique=True),
    _of_organization(),
    Column("owner_email", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    _flag("is_shared"),
    _text("embedding_vendor"),
    _text("embedding_model"),
    _text("embedding_endpoint"),
    _at("created_at"),
    _at("updated_at"),
    Index(None, "organization_id", "id"),
    Index(None, "owner_email", "id"),
)
"""The imported registry; `store_id` is what assistants and the knowledge-store server call one."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    _text("name"),
    Column("digest", LargeBinary, nullable=False),
    _text("pepper_id"),
    _of_organization(),
    Column("user_email", Text),
    _text("scopes"),
    _flag("trusted"),
    _at("created_at"),
    _at("expires_at", optional=True),
    _at("revoked_at", optional=True),
    _at("used_at", optional=True),
    Index(None, "organization_id", "id"),
)
"""The id is the public part of a key; the rest is known only as its digest. `used_at` is up to a
minute old."""


def _of_user() -> ForeignKey:
    return ForeignKey("users.id", ondelete="CASCADE")


passwords = Table(
    "passwords",
    metadata,
    Column("user_id", Identifier, _of_user(), primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
    _flag("all_organizations"),
    _at("changed_at"),
)
"""The passwords of users. `all_organizations` says whether one is valid in all organisations of the
address: an operator has set it at the home."""

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    _text("pepper_id"),
    Column("user_id", Identifier, _of_user(), nullable=False, index=True),
    _text("method"),
    _flag("all_organizations"),
    _at("created_at"),
    _at("used_at"),
    Column("ends_at", Seconds, nullable=False, index=True),
)
"""The id is the public part of a token; the rest is known only as its digest. `used_at` is up to a
minute old; `all_organizations` says whether the address itself was proven."""

sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("digest", Text, primary_key=True),
    _count("failures"),
    Column("ends_at", Seconds, nullable=False, index=True),
)
"""Failures to sign in, by the keyed digest of an address or a client, and used confirmations, until
they are forgotten."""

extension_texts = Table(
    "extension_texts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("sealed", Text, nullable=False),
    Column("expires_at", Seconds, index=True),
)
"""What extensions of the gateway store, encrypted. A text without `expires_at` stays."""

usage = Table(
    "usage",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Column("connector", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    *_amounts(),
)
"""What assistants consumed. Costs are in millionths of a millionth of a US dollar: that is what one
token costs if a million cost a millionth, so sums are exact however they were recorded."""

daily_usage = Table(
    "daily_usage",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("connector", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    _of_organization(),
    *_amounts(),
    Index(None, "organization_id", "day"),
    Index(None, "day"),
)
"""The usage of assistants on each day of UTC, counted from 1970. Costs are as in `usage`."""

usage_reservations = Table(
    "usage_reservations",
    metadata,
    Column("reservation", Text, primary_key=True),
    Column("assistant_id", ForeignKey("assistants.id"), nullable=False, index=True),
    _amount("cost_picos"),
    _at("expires_at"),
)
"""The reserved costs of answers in progress, by assistant. Costs are as in `usage`."""
deletion_of_reservations = delete(usage_reservations).execution_options(**{ONLY_NUMBERS: True})
"""Reservations are deleted with every turn."""

usage_recorders = Table(
    "usage_recorders",
    metadata,
    Column("recorder", Text, primary_key=True),
    _amount("last_number"),
    _at("recorded_at"),
)
"""Who recorded usage, and the number of the last entry of each: what is sent again counts once."""

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("kind", Text, nullable=False),
    _flag("dry_run"),
    _flag("discard_edits"),
    Column("state", Text, nullable=False, index=True),
    _text("author"),
    _at("created_at"),
    _at("ended_at", optional=True),
    _count("interruptions"),
    _text("tables"),
    _count("finding_count"),
    _count("last_finding"),
    _text("error"),
    _count("revision", 1),
    _text("claimant"),
    _at("claimed_until", optional=True),
    sqlite_autoincrement=True,
)
"""Jobs of the migration. `tables` is a JSON array of names and counts; `claimant` is the process
that works on one until `claimed_until`."""

job_findings = Table(
    "job_findings",
    metadata,
    Column(
        "job_id", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("source"),
    _text("row_id"),
    _text("row_name"),
    _text("notes"),
    _text("refusal"),
    Index(None, "job_id", "source", "row_id"),
)
"""The findings of jobs about rows of the table `source`. `notes` are lines."""

following = Table(
    "following",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _text("claimant"),
    _at("claimed_until"),
    _at("compared_at", optional=True),
    _at("changed_at", optional=True),
    _text("problem"),
)
"""One row: which process follows the database of another installation, and what it reported."""

followed_rows = Table(
    "followed_rows",
    metadata,
    Column("source", Text, primary_key=True),
    Column("row_id", Identifier, primary_key=True, autoincrement=False),
    _text("digest"),
    Column("document", LargeBinary, nullable=False),
    Column("noted_at", Seconds, nullable=True, index=True),
    _text("note"),
    _text("refusal"),
)
"""The rows of the followed database, as applied last. `document` is compressed JSON, empty
if that is unknown. `digest` is empty if the row was refused. `note` has lines, the newest first."""

audit_events = Table(
    "audit_events",
    metadata,
    Column("number", Identifier, primary_key=True, autoincrement=False),
    _at("recorded_at"),
    _text("organization"),
    _text("subject"),
    _text("subject_organization"),
    _text("scopes"),
    _text("client_user"),
    _text("api_key_id"),
    _text("action"),
    _text("object_type"),
    _text("object_id"),
    _text("outcome"),
    _text("changes"),
    _text("before_digest"),
    _text("after_digest"),
    _text("request_id"),
    _text("trace_id"),
    _text("key_id"),
    _text("previous_digest"),
    _text("digest"),
    _text("erased_digest"),
    # Each ends in the number, by which lists are paged.
    Index(None, "organization", "number"),
    Index(None, "subject", "number"),
    Index(None, "object_id", "number"),
    Index(None, "recorded_at", "number"),
)
"""The audit log. `digest` chains each row to the row before. Rows are changed only to erase a
person: `erased_digest` is the digest of what is left."""

audit_chain = Table(
    "audit_chain",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _amount("expired_number"),
    _text("expired_digest"),
    _amount("last_number"),
    _text("last_digest"),
    _text("key_id"),
    _text("digest"),
)
"""One row: both ends of the chain, with a digest of its own. Its lock orders the writers."""

audit_keys = Table(
    "audit_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sealed", Text, nullable=False),
    _at("created_at"),
)
"""The keys of the chain's digests, each encrypted as secrets in settings are."""

audit_recorders = Table(
    "audit_recorders",
    metadata,
    Column("recorder", Text, primary_key=True),
    _amount("last_number"),
    _at("recorded_at"),
)
"""The services that recorded events, and the number of the last event of each."""

conversation_owners = Table(
    "conversation_owners",
    metadata,
    Column(
        "organization_id", ForeignKey("organizations.id"), primary_key=True, autoincrement=False
    ),
    Column("owner_email", Text, primary_key=True),
    Column("sealed", Text, nullable=False),
    Column("item_count", Amount, nullable=False, server_default="0"),
    Column("last_position", Amount, nullable=False, server_default="0"),
)
"""The people who store conversations: the key of each, encrypted as secrets in settings are, and
the number of stored items. Its lock orders the writers of one person."""


def _owned(*columns: Column[Any]) -> Iterator[Column[Any] | Index]:
    """Yield the columns of what a person stores, in the order in which it changed."""
    yield Column("id", Text, primary_key=True)
    yield _of_organization()
    yield Column("owner_email", Text, nullable=False)
    yield _at("created_at")
    yield from columns


conversations = Table(
    "conversations",
    metadata,
    *_owned(
        Column("updated_at", Seconds, nullable=False, index=True),
        _flag("pinned"),
        _flag("archived"),
        _text("last_item"),
        Column("details", LargeBinary, nullable=False),
        Column("words", LargeBinary, nullable=False),
    ),
    Index(None, "organization_id", "owner_email", "updated_at"),
)
"""`details` is a JSON object, `words` has the words of the messages, one a line, for searches. Both
and the bodies of the next tables are encrypted with the key of the owner."""

responses = Table(
    "responses",
    metadata,
    *_owned(
        Column("updated_at", Seconds, nullable=False, index=True),
        Column("conversation_id", Text, nullable=False, index=True, server_default=""),
        _text("status"),
        _text("last_item"),
        Column("body", LargeBinary, nullable=False),
        Column("events", LargeBinary),
    ),
    Index(None, "organization_id", "owner_email", "updated_at"),
)

conversation_items = Table(
    "conversation_items",
    metadata,
    *_owned(
        _text("conversation_id"),
        _text("response_id"),
        _amount("position"),
        _flag("is_input"),
        Column("parent", Text, nullable=False, index=True, server_default=""),
        Column("body", LargeBinary, nullable=False),
        Column("feedback", LargeBinary),
    ),
    Index(None, "conversation_id", "position"),
    Index(None, "response_id", "position"),
    Index(None, "organization_id", "owner_email"),
)
"""The items of conversations, and of responses. `parent` is the item before."""

batches = Table(
    "batches",
    metadata,
    *_owned(
        _amount("position"),
        *map(_text, ("status", "organization", "scopes", "key_id", "claimant")),
        Column("claimed_until", Seconds, nullable=False, server_default="0"),
        *(
            Column(name, Amount, nullable=False, server_default="0")
            for name in ("line_count", "completed_count", "failed_count")
        ),
        Column("body", LargeBinary, nullable=False),
    ),
    Index(None, "organization_id", "owner_email", "position"),
    Index(None, "status", "position"),
)
"""`position` orders them; organisation, scopes and key are those of the request that created one.
The process `claimant` holds the claim until `claimed_until`."""

batch_results = Table(
    "batch_results",
    metadata,
    *_owned(
        _text("batch_id"),
        _amount("line"),
        _flag("failed"),
        Column("body", LargeBinary, nullable=False),
    ),
    Index(None, "batch_id", "line"),
    Index(None, "organization_id", "owner_email"),
)
"""The results of the lines of batches that have not ended. The id has the batch and the line."""

learner_groups = Table(
    "learner_groups",
    metadata,
    Column("id", Text, primary_key=True),
    _of_organization(),
    Column("title", Text, nullable=False),
    _text("claim"),
    Column("code", Text, unique=True),
    _at("code_expires_at", optional=True),
    _count("code_uses"),
    _at("created_at"),
    _count("revision", 1),
    Index(None, "organization_id", "id"),
)
"""Groups of learners. `code_uses` is the number of users who can still join with `code`; `claim` is
a value of an identity provider whose users are members."""


def _of_group() -> Column[str]:
    return Column(
        "group_id", ForeignKey("learner_groups.id"), primary_key=True, autoincrement=False
    )


group_members = Table(
    "group_members",
    metadata,
    _of_group(),
    Column("email", Text, primary_key=True),
    _flag("is_teacher"),
    _flag("by_claim"),
    _at("joined_at"),
    Index(None, "email"),
)
"""The members and teachers of groups. `by_claim` says that one leaves when the claim does."""

group_assistants = Table(
    "group_assistants",
    metadata,
    _of_group(),
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Index(None, "assistant_id"),
)
"""The assistants that are published to groups."""

QUESTION_COUNTS = (
    *("questions", "without_sources", "failures", "helpful", "unhelpful"),
    *("timed", "first_token_millis"),
)
question_days = Table(
    "question_days",
    metadata,
    Column("assistant_id", ForeignKey("assistants.id"), primary_key=True, autoincrement=False),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("learner", Text, primary_key=True),
    *(Column(name, Amount, nullable=False, server_default="0") for name in QUESTION_COUNTS),
    Index(None, "day"),
    Index(None, "learner"),
)
"""What users asked assistants on each day of UTC. `learner` is a pseudonym; `first_token_millis` is
the sum over the `timed` answers."""

learner_questions = Table(
    "learner_questions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("assistant_id", ForeignKey("assistants.id"), nullable=False),
    Column("day", Integer, nullable=False),
    Column("learner", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("response_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("without_sources", Boolean, nullable=False),
    Column("failures", Boolean, nullable=False),
    Index(None, "assistant_id", "day"),
    *(Index(None, name) for name in ("learner", "conversation_id", "response_id")),
)
"""Copies of questions for teachers, who read neither the pseudonym `learner` nor what the copy is
of: with that it is deleted."""

SCHEMA = Schema(
    metadata, Path(__file__).with_name("revisions") / "versions", "heddle_assistants.schema"
)
