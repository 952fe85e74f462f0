"""The database of the stand-in: LAMB's tables, read and written with LAMB's statements."""

import hashlib
import json
import secrets
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from migration.lamb.lamb_database import CONTENTS, METERED, Lamb

DELETED_OWNER = "deleted_assistant@owi.com"
_ROUNDS = 1000
_COLUMNS = (
    *("name", "description", "system_prompt", "prompt_template", "api_callback"),
    *("RAG_endpoint", "RAG_Top_k", "RAG_collections"),
    *("pre_retrieval_endpoint", "post_retrieval_endpoint"),
)
"""What the form sets. LAMB leaves `updated_at` as it is."""
_PUBLISHED = """SELECT a.*, p.group_id, p.group_name, p.oauth_consumer_name,
    p.created_at AS published_at,
    p.oauth_consumer_name IS NOT NULL AND p.oauth_consumer_name != 'null' AS published
    FROM LAMB_assistants a LEFT JOIN LAMB_assistant_publish p ON a.id = p.assistant_id
"""


def new_database(path: Path) -> Lamb:
    """Make a database of today's LAMB with an organisation."""
    tables = Lamb(path).make({**METERED, **CONTENTS})
    return tables.add("organizations", {"id": 1, "slug": "uni", "name": "The University"})


def hashed(password: str) -> str:
    """Return what the database stores of a password."""
    salt = secrets.token_hex(8)
    return f"{salt}${_digest(salt, password)}"


class Rows:
    """LAMB's rows. A connection is opened for each statement, as LAMB does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def user(self, email: str) -> dict[str, Any] | None:
        """Return an enabled user."""
        query = "SELECT * FROM LAMB_Creator_users WHERE user_email = ? AND enabled"
        return self._one(query, email)

    def accepts(self, email: str, password: str) -> bool:
        """Return whether a password is that of a user."""
        user = self.user(email)
        salt, _, digest = str(user and user["password_hash"]).partition("$")
        return secrets.compare_digest(digest, _digest(salt, password))

    def assistant(self, identifier: int) -> dict[str, Any] | None:
        """Return an assistant that is not deleted, and whether it is published."""
        query = f"{_PUBLISHED} WHERE a.id = ? AND a.owner != ?"
        return self._one(query, identifier, DELETED_OWNER)

    def assistants(self, owner: str) -> list[dict[str, Any]]:
        """Return the assistants of an owner, the newest first."""
        return self._all(f"{_PUBLISHED} WHERE a.owner = ? ORDER BY a.id DESC", owner)

    def published(self) -> list[dict[str, Any]]:
        """Return the published assistants of all owners, the newest first."""
        query = f"{_PUBLISHED} WHERE published AND a.owner != ? ORDER BY a.id DESC"
        return self._all(query, DELETED_OWNER)

    def create(self, user: dict[str, Any], columns: dict[str, Any]) -> int:
        """Insert an assistant of a user and return its id."""
        now = int(time.time())
        row = {name: columns.get(name, "") for name in _COLUMNS} | {
            "name": f"{user['id']}_{columns['name']}",
            "organization_id": user["organization_id"],
            "owner": user["user_email"],
            "created_at": now,
            "updated_at": now,
        }
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self._writing() as connection:
            statement = f"INSERT INTO LAMB_assistants ({names}) VALUES ({marks})"  # noqa: S608 - our own names
            return int(connection.execute(statement, tuple(row.values())).lastrowid or 0)

    def update(self, identifier: int, columns: dict[str, Any]) -> None:
        """Change the columns of an assistant that the form sets."""
        changes = {name: columns[name] for name in _COLUMNS if name in columns}
        names = ", ".join(f"{name} = ?" for name in changes)
        with self._writing() as connection:
            statement = f"UPDATE LAMB_assistants SET {names} WHERE id = ?"  # noqa: S608 - our own names
            connection.execute(statement, (*changes.values(), identifier))

    def delete(self, identifier: int) -> None:
        """Delete an assistant as LAMB does: the row stays, with another owner."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE LAMB_assistants SET owner = ?, name = name || '_deleted_' || ? "
                "WHERE id = ?",
                (DELETED_OWNER, int(time.time()), identifier),
            )

    def publish(self, identifier: int, *, published: bool) -> None:
        """Publish an assistant, or take that back."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO LAMB_assistant_publish (assistant_id, assistant_name, "
                "assistant_owner, group_id, group_name, oauth_consumer_name, created_at) "
                "SELECT id, name, owner, 'assistant_' || id, 'assistant_' || id, "
                "iif(?, name, NULL), ? FROM LAMB_assistants WHERE id = ?",
                (published, int(time.time()), identifier),
            )

    def store_chat(
        self, user: int, assistant: int, messages: list[dict[str, Any]], chat: str = ""
    ) -> str:
        """Store a chat of LAMB's pages and return its id."""
        identifier, now = chat or str(uuid.uuid4()), int(time.time())
        history = {str(n): {**each, "timestamp": now} for n, each in enumerate(messages)}
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO LAMB_lamb_chats (id, user_id, assistant_id, chat, "
                "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    *(identifier, user, assistant),
                    *(json.dumps({"history": {"messages": history}}), now, now),
                ),
            )
        return identifier

    def chats(self) -> list[list[dict[str, Any]]]:
        """Return the messages of all chats."""
        rows = self._all("SELECT chat FROM LAMB_lamb_chats")
        histories = [json.loads(row["chat"])["history"]["messages"] for row in rows]
        return [list(each.values()) for each in histories]

    def _one(self, query: str, *values: object) -> dict[str, Any] | None:
        rows = self._all(query, *values)
        return rows[0] if rows else None

    def _all(self, query: str, *values: object) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self._path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            yield connection


def _digest(salt: str, password: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), _ROUNDS).hex()
