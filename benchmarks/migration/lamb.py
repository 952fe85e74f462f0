"""A LAMB database with the rows that the batch jobs also migrate."""

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

_CREATED_AT = 1_700_000_000
_TABLES = """
CREATE TABLE organizations (
    id INTEGER PRIMARY KEY, slug TEXT, name TEXT, is_system BOOLEAN, status TEXT, config JSON,
    created_at INTEGER, updated_at INTEGER);
CREATE TABLE Creator_users (
    id INTEGER PRIMARY KEY, organization_id INTEGER, user_email TEXT UNIQUE, user_name TEXT,
    user_type TEXT, created_at INTEGER, updated_at INTEGER, enabled BOOLEAN);
CREATE TABLE assistants (
    id INTEGER PRIMARY KEY, organization_id INTEGER, name TEXT, description TEXT, owner TEXT,
    api_callback TEXT, system_prompt TEXT, prompt_template TEXT, RAG_endpoint TEXT,
    RAG_Top_k INTEGER, RAG_collections TEXT, pre_retrieval_endpoint TEXT,
    post_retrieval_endpoint TEXT, created_at INTEGER, updated_at INTEGER);
"""
_COLUMNS = {
    **{name: name for name in ("id", "organization_id", "name", "description", "owner")},
    "api_callback": "metadata",
    "RAG_Top_k": "rag_top_k",
    "RAG_collections": "rag_collections",
    **{name: name for name in ("system_prompt", "prompt_template", "created_at", "updated_at")},
}
"""Heddle's columns by LAMB's, of the table of assistants."""


def write(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Make a LAMB database of rows of `assistants`, their organisation and their owners.

    Returns:
        The digest of all metadata, as `databases.fingerprint` computes it.
    """
    digest = hashlib.sha256()
    owners: dict[str, None] = {}
    columns = ", ".join(_COLUMNS)
    marks = ", ".join("?" * len(_COLUMNS))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_TABLES)
        connection.execute(
            "INSERT INTO organizations VALUES (1, 'uni', 'Uni', 0, 'active', '{}', ?, ?)",
            (_CREATED_AT, _CREATED_AT),
        )
        for row in rows:
            owners[row["owner"]] = None
            digest.update(repr((row["id"], row["metadata"])).encode())
            query = f"INSERT INTO assistants ({columns}) VALUES ({marks})"  # noqa: S608 - names of ours
            connection.execute(query, [row[name] for name in _COLUMNS.values()])
        connection.executemany(
            "INSERT INTO Creator_users VALUES (?, 1, ?, 'Teacher', 'creator', ?, ?, 1)",
            [(number, owner, _CREATED_AT, _CREATED_AT) for number, owner in enumerate(owners, 1)],
        )
    return digest.hexdigest()
