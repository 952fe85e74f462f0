"""LAMB databases of different ages, with what is found in real ones."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden" / "migration"
NOW = 1_700_000_000

ORGANIZATIONS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, slug TEXT UNIQUE NOT NULL, name TEXT NOT NULL,
    is_system BOOLEAN DEFAULT FALSE, status TEXT DEFAULT 'active', config JSON NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)"""
ROLES = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL, role TEXT NOT NULL, created_at INTEGER, updated_at INTEGER,
    UNIQUE (organization_id, user_id))"""
USERS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER, user_email TEXT NOT NULL UNIQUE,
    user_name TEXT NOT NULL, user_type TEXT NOT NULL DEFAULT 'creator', user_config JSON,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, enabled BOOLEAN NOT NULL DEFAULT 1,
    password_hash TEXT)"""
ASSISTANTS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL, name TEXT NOT NULL,
    description TEXT, owner TEXT NOT NULL, api_callback TEXT, system_prompt TEXT,
    prompt_template TEXT, RAG_endpoint TEXT, RAG_Top_k INTEGER, RAG_collections TEXT,
    pre_retrieval_endpoint TEXT, post_retrieval_endpoint TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, UNIQUE (organization_id, name, owner))"""
PUBLISH = """(
    assistant_id INTEGER PRIMARY KEY, assistant_name TEXT NOT NULL, assistant_owner TEXT NOT NULL,
    group_id TEXT NOT NULL, group_name TEXT NOT NULL, oauth_consumer_name TEXT UNIQUE,
    created_at INTEGER NOT NULL)"""
SHARES = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, assistant_id INTEGER NOT NULL,
    shared_with_user_id INTEGER NOT NULL, shared_by_user_id INTEGER, shared_at INTEGER)"""
RUBRICS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, rubric_id TEXT UNIQUE NOT NULL,
    organization_id INTEGER NOT NULL, owner_email TEXT NOT NULL, title TEXT NOT NULL,
    description TEXT, rubric_data JSON NOT NULL, is_public BOOLEAN DEFAULT FALSE,
    is_showcase BOOLEAN DEFAULT FALSE, parent_rubric_id TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL)"""
REGISTRY = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kb_id TEXT NOT NULL UNIQUE, kb_name TEXT NOT NULL,
    owner_user_id INTEGER NOT NULL, organization_id INTEGER NOT NULL,
    is_shared BOOLEAN DEFAULT FALSE, metadata JSON, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL)"""
STORES = """(
    id TEXT PRIMARY KEY, organization_id INTEGER NOT NULL, name TEXT NOT NULL, description TEXT,
    owner_user_id INTEGER NOT NULL, is_shared INTEGER DEFAULT 0, chunking_strategy TEXT NOT NULL,
    chunking_params TEXT, embedding_vendor TEXT NOT NULL, embedding_model TEXT NOT NULL,
    embedding_endpoint TEXT, vector_db_backend TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active', created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, UNIQUE (organization_id, name))"""
PRICING = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, model_name TEXT NOT NULL,
    input_per_1m REAL NOT NULL DEFAULT 0, output_per_1m REAL NOT NULL DEFAULT 0, notes TEXT,
    updated_at INTEGER NOT NULL, UNIQUE (provider, model_name))"""
TOTALS = """(
    assistant_id INTEGER PRIMARY KEY, prompt_tokens_total INTEGER DEFAULT 0,
    completion_tokens_total INTEGER DEFAULT 0, total_tokens_total INTEGER DEFAULT 0,
    cost_usd_total REAL DEFAULT 0.0, updated_at INTEGER NOT NULL)"""
ALERTS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, assistant_id INTEGER UNIQUE NOT NULL,
    quota_limit_usd REAL, thresholds_config JSON, current_alert_level INTEGER DEFAULT 0,
    is_blocked BOOLEAN DEFAULT 0, updated_at INTEGER NOT NULL)"""
LOGS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL, user_id INTEGER,
    assistant_id INTEGER, usage_data JSON NOT NULL, created_at INTEGER NOT NULL,
    model_name TEXT, provider TEXT)"""
TEMPLATES = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL,
    owner_email TEXT NOT NULL, name TEXT NOT NULL, description TEXT, system_prompt TEXT,
    prompt_template TEXT, is_shared BOOLEAN DEFAULT FALSE, metadata JSON,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    UNIQUE (organization_id, owner_email, name))"""
CHATS = """(
    id TEXT PRIMARY KEY, user_id INTEGER NOT NULL, assistant_id INTEGER NOT NULL,
    title TEXT NOT NULL DEFAULT 'New Chat', created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, chat JSON NOT NULL DEFAULT '{"history": {"messages": {}}}',
    archived INTEGER DEFAULT 0)"""
SCENARIOS = """(
    id TEXT PRIMARY KEY, assistant_id INTEGER NOT NULL, title TEXT NOT NULL,
    description TEXT DEFAULT '', scenario_type TEXT DEFAULT 'single_turn', messages TEXT NOT NULL,
    expected_behavior TEXT DEFAULT '', tags TEXT DEFAULT '[]', created_by TEXT NOT NULL,
    created_at TIMESTAMP, updated_at TIMESTAMP)"""
RUNS = """(
    id TEXT PRIMARY KEY, assistant_id INTEGER NOT NULL, scenario_id TEXT,
    input_messages TEXT NOT NULL, output TEXT NOT NULL, token_usage TEXT, assistant_snapshot TEXT,
    model_used TEXT, elapsed_ms REAL, created_at TIMESTAMP)"""
EVALUATIONS = """(
    id TEXT PRIMARY KEY, test_run_id TEXT NOT NULL, evaluator TEXT NOT NULL, verdict TEXT,
    notes TEXT DEFAULT '', dimensions TEXT, confirmed_by_user BOOLEAN, created_at TIMESTAMP)"""
BULK_LOGS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL,
    admin_user_id INTEGER, admin_email TEXT NOT NULL, operation_type TEXT NOT NULL,
    total_count INTEGER NOT NULL, success_count INTEGER NOT NULL, failure_count INTEGER NOT NULL,
    details JSON, created_at INTEGER NOT NULL)"""
LIBRARIES = """(
    id TEXT PRIMARY KEY, organization_id INTEGER NOT NULL, name TEXT NOT NULL, description TEXT,
    owner_user_id INTEGER NOT NULL, is_shared INTEGER DEFAULT 0, import_config TEXT,
    status TEXT DEFAULT 'active', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)"""
TODAY = {
    "organizations": ORGANIZATIONS,
    "organization_roles": ROLES,
    "Creator_users": USERS,
    "assistants": ASSISTANTS,
    "assistant_publish": PUBLISH,
    "assistant_shares": SHARES,
    "rubrics": RUBRICS,
    "kb_registry": REGISTRY,
}
NEWEST = {**TODAY, "knowledge_stores": STORES}
"""With the registry of LAMB's newest server."""
CONTENTS = {
    **TODAY,
    "prompt_templates": TEMPLATES,
    "lamb_chats": CHATS,
    "assistant_test_scenarios": SCENARIOS,
    "assistant_test_runs": RUNS,
    "assistant_test_evaluations": EVALUATIONS,
    "bulk_import_logs": BULK_LOGS,
    "libraries": LIBRARIES,
}
"""With what users write."""
METERED = {
    **TODAY,
    "model_pricing": PRICING,
    "assistant_usage_totals": TOTALS,
    "assistant_quota_alerts": ALERTS,
    "usage_logs": LOGS,
    "audit_log": "(id INTEGER PRIMARY KEY, action TEXT)",
}
"""With the tables of LAMB's budgets, and some that no import takes over."""
PROVIDERS = {"openai": {"api_key": "sk-lambs-own", "base_url": "https://api.example"}}
DEFAULTS: dict[str, dict[str, Any]] = {
    "organizations": {"name": "Some", "config": "{}"},
    "organization_roles": {},
    "Creator_users": {"organization_id": 1, "user_name": "Some"},
    "assistants": {"organization_id": 1, "owner": "ana@example.org", "api_callback": "{}"},
    "assistant_publish": {
        "assistant_name": "a",
        "assistant_owner": "o",
        "group_id": "g",
        "group_name": "G",
    },
    "assistant_shares": {"shared_with_user_id": 1},
    "rubrics": {"organization_id": 1, "owner_email": "ana@example.org", "title": "Essay"},
    "kb_registry": {"organization_id": 1, "owner_user_id": 1},
    "knowledge_stores": {
        "organization_id": 1,
        "owner_user_id": 1,
        "chunking_strategy": "simple",
        "embedding_vendor": "openai",
        "embedding_model": "text-embedding-3-small",
        "vector_db_backend": "chromadb",
    },
    "model_pricing": {},
    "assistant_usage_totals": {},
    "assistant_quota_alerts": {},
    "usage_logs": {"organization_id": 1, "usage_data": "{}"},
    "prompt_templates": {"organization_id": 1, "owner_email": "Ana@example.org"},
    "lamb_chats": {"user_id": 1, "assistant_id": 42},
    "assistant_test_scenarios": {"assistant_id": 42, "created_by": "ana@example.org"},
    "assistant_test_runs": {"assistant_id": 42, "input_messages": "[]", "output": "…"},
    "assistant_test_evaluations": {"evaluator": "user"},
    "bulk_import_logs": {
        "organization_id": 1,
        "admin_email": "ana@example.org",
        "operation_type": "user_creation",
        **dict.fromkeys(("total_count", "success_count", "failure_count"), 0),
    },
    "libraries": {"organization_id": 1, "owner_user_id": 1},
    "audit_log": {},
}


class Lamb:
    """A LAMB database that a test fills."""

    def __init__(self, path: Path, prefix: str = "LAMB_") -> None:
        self.path = path
        self.prefix = prefix

    def make(self, tables: dict[str, str] = TODAY, *, journal: str = "WAL") -> "Lamb":
        """Make the tables."""
        with self.open() as connection:
            connection.execute(f"PRAGMA journal_mode = {journal}")
            for name, columns in tables.items():
                connection.execute(f'CREATE TABLE "{self.prefix}{name}" {columns}')
            connection.commit()
        return self

    def open(self) -> "closing[sqlite3.Connection]":
        """Open it as LAMB does."""
        return closing(sqlite3.connect(self.path))

    def add(self, table: str, *rows: dict[str, Any]) -> "Lamb":
        """Insert rows; what a row does not say has a value that is of no interest."""
        with self.open() as connection:
            there = {
                row[1] for row in connection.execute(f'PRAGMA table_info("{self.prefix}{table}")')
            }
            usual = DEFAULTS[table] | {"created_at": NOW, "updated_at": NOW}
            for columns in rows:
                row = {name: value for name, value in usual.items() if name in there} | columns
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" * len(row))
                connection.execute(
                    f'INSERT INTO "{self.prefix}{table}" ({names}) VALUES ({marks})',  # noqa: S608 (a test's names)
                    tuple(row.values()),
                )
            connection.commit()
        return self


def legacy_rows() -> Iterator[dict[str, Any]]:
    """Yield the assistants of the golden files, as LAMB stores them, with an id each."""
    for number, path in enumerate(sorted(GOLDEN.glob("*.legacy.json")), start=101):
        row = json.loads(path.read_text())
        stored = row["api_callback"]
        row["api_callback"] = json.dumps(stored) if isinstance(stored, dict) else stored
        yield row | {"id": number, "name": f"{row['name']}_{number}"}


def filled(path: Path) -> Lamb:
    """Make a database like a real one: two organisations, all kinds of assistants."""
    lamb = Lamb(path).make()
    config = json.dumps({"setups": {"default": {"providers": PROVIDERS}}})
    lamb.add(
        "organizations",
        {"id": 1, "slug": "lamb", "name": "LAMB", "is_system": 1, "config": config},
        {"id": 7, "slug": "physics", "name": "Physics", "config": config},
    )
    lamb.add(
        "Creator_users",
        {"id": 1, "user_email": "ana@example.org", "user_name": "Ana"},
        {"id": 3, "user_email": "bo@example.org", "organization_id": 7},
        {"id": 4, "user_email": "cy@example.org", "organization_id": 7, "user_type": "end_user"},
        {"id": 5, "user_email": "di@example.org", "organization_id": 7, "enabled": 0},
    )
    lamb.add(
        "organization_roles",
        {"organization_id": 7, "user_id": 3, "role": "owner"},
        {"organization_id": 1, "user_id": 5, "role": "admin"},  # not of the own organisation
        {"organization_id": 7, "user_id": 5, "role": "member"},
    )
    lamb.add("assistants", *legacy_rows())
    lamb.add(
        "assistants",
        {"id": 42, "name": "3_tutor", "owner": "bo@example.org", "organization_id": 7},
        {"id": 43, "name": "1_a"},
        {"id": 44, "name": "1_b"},
        {"id": 45, "name": "1_c"},
    )
    lamb.add(
        "assistant_publish",
        {"assistant_id": 42, "oauth_consumer_name": "course-1", "created_at": NOW + 5},
        {"assistant_id": 43, "oauth_consumer_name": "null"},
        {"assistant_id": 44, "oauth_consumer_name": None},
    )
    lamb.add(
        "rubrics",
        {"id": 9, "rubric_id": "rubric-550e8400", "rubric_data": '{"criteria":[]}', "is_public": 1},
    )
    lamb.add(
        "kb_registry",
        {"id": 2, "kb_id": "17", "kb_name": "Optics", "owner_user_id": 3, "organization_id": 7},
    )
    return lamb
