"""The tables, as a new database gets them.

Once a release has made tables, a change here needs a revision in `revisions/versions` too.
"""

from pathlib import Path

from heddle_runtime.storage.database.columns import Amount, Identifier, Seconds
from heddle_runtime.storage.database.schema import Schema, new_metadata
from sqlalchemy import (
    DDL,
    JSON,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    event,
    false,
)

metadata = new_metadata()


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=False)


def _record() -> Column[bytes]:
    return Column("record", LargeBinary, nullable=False)


uploads = Table(
    "uploads",
    metadata,
    _text("person", key=True),
    _text("id", key=True),
    _record(),
    Column("size", Amount, nullable=False),
    Column("content", LargeBinary),
    Column("object_key", Text, unique=True),
)
"""The files of people; `person` is what `uploads.store.person_key` returns. The bytes are in
`content`, or an object has them."""

deleted_uploads = Table(
    "deleted_uploads",
    metadata,
    _text("person", key=True),
    _text("id", key=True),
    Column("object_key", Text),
)
"""Files whose deletion has begun. Their owners may have uploaded them again."""

attached_files = Table(
    "attached_files",
    metadata,
    _text("collection", key=True),
    _text("id", key=True),
    _text("state"),
    Column("created_at", Amount, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _record(),
    Index(None, "id"),
)
"""The files of collections. `state` is that of the record, or `detached`. `attempts` says how often
the service died while it read the file."""
for _state in ("in_progress", "detached"):
    _of_state = attached_files.c.state == _state
    Index(
        f"ix_attached_files_{_state}",
        *(attached_files.c.created_at, attached_files.c.collection, attached_files.c.id),
        sqlite_where=_of_state,
        postgresql_where=_of_state,
    )

file_batches = Table(
    "file_batches", metadata, _text("collection", key=True), _text("id", key=True), _record()
)
"""Files that were attached together."""

leases = Table(
    "leases",
    metadata,
    _text("collection", key=True),
    _text("name", key=True),
    Column("holder", Text, nullable=False, unique=True),
    Column("expires_at", Seconds, nullable=False),
    Column("requested", Boolean, nullable=False, server_default=false()),
    Column("report", LargeBinary),
)
"""Who works on what, among replicas. `requested` says that another one waits, `report` how far the
work is. Work on a folder is locked by files instead, which the death of a process unlocks at once.
"""

audit_recorder = Table(
    "audit_recorder",
    metadata,
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("last_number", Amount, nullable=False),
)
"""One row: the name under which events are recorded, and the number of the last one."""

audit_outbox = Table(
    "audit_outbox",
    metadata,
    Column("id", Identifier, Identity(always=False), primary_key=True),
    Column("number", Amount, unique=True),
    Column("event", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)
"""Events for the audit log. The log expects numbers that rise. Ids are drawn before a transaction
ends, so a smaller one may appear after a larger one was sent; numbers are given later."""

paged_documents = Table(
    "paged_documents",
    metadata,
    _text("collection", key=True),
    _text("sha256", key=True),
    _text("maker"),
    Column("pages", Integer, nullable=False),
    Column("whole", Boolean, nullable=False, server_default=false()),
)
"""Documents that have pages, or are to have. `maker` is what their pages depend on besides."""

pages = Table(
    "pages",
    metadata,
    Column("id", Identifier, Identity(always=False), primary_key=True),
    _text("collection"),
    _text("sha256"),
    Column("page", Integer, nullable=False),
    # Before what is large, so that reading all of them touches little else.
    Column("summary", LargeBinary),
    _text("text"),
    Column("figures", JSON, nullable=False),
    Column("scanned", Boolean, nullable=False),
    _text("picture_sha256"),
    Column("words", LargeBinary, nullable=False),
    Column("picture", LargeBinary),
    Column("object_key", Text, unique=True),
    UniqueConstraint("collection", "sha256", "page"),
    ForeignKeyConstraint(
        ["collection", "sha256"], ["paged_documents.collection", "paged_documents.sha256"]
    ),
    Index(None, "collection", "id"),
    sqlite_autoincrement=True,
)
"""Pages, counted from 1 in a document. `summary` is the mean of `words`: float16
vectors. The bytes are in `picture`, or an object has them."""
event.listen(
    pages,
    "after_create",
    DDL(  # type: ignore[no-untyped-call] # of SQLAlchemy
        "ALTER TABLE pages ALTER COLUMN summary SET STORAGE MAIN, "
        "ALTER COLUMN words SET STORAGE EXTERNAL, ALTER COLUMN picture SET STORAGE EXTERNAL"
    ).execute_if(dialect="postgresql"),
)

graph_parts = Table(
    "graph_parts",
    metadata,
    Column("id", Identifier, Identity(always=False), primary_key=True),
    _text("collection"),
    _text("document"),
    _text("sha256"),
    Column("english", Boolean, nullable=False),
    Column("drawn_at", Seconds, nullable=False),
    Column("passages", LargeBinary, nullable=False),
    UniqueConstraint("collection", "document", "sha256"),
    sqlite_autoincrement=True,
)
"""The names of versions of documents. `passages` are those with names, as msgpack. A row is never
changed: who has read it need not read it again."""

SCHEMA = Schema(metadata, Path(__file__).with_name("revisions") / "versions")
