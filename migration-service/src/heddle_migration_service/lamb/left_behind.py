"""What an import leaves in LAMB, and what it is."""

from collections.abc import Collection, Mapping

from heddle.migration.v1 import migration_pb2 as pb

from heddle_migration_service.lamb.tables import LambTables

_IMPORTED = frozenset(
    {
        *("organizations", "organization_roles", "creator_users", "assistants"),
        *("assistant_publish", "rubrics", "kb_registry", "model_pricing"),
        *("assistant_usage_totals", "knowledge_stores", "assistant_shares", "lti_activities"),
        *("lti_activity_assistants", "lti_global_config", "lti_creator_keys"),
        *("prompt_templates", "lamb_chats", "assistant_test_scenarios", "bulk_import_logs"),
    }
)
_MEANINGS: Mapping[str, str] = {
    "assistant_quota_alerts": "Alerts about budgets. Assistants have notes about their budgets.",
    "usage_logs": "Single requests. Their sums are imported where LAMB has sums.",
    "aac_sessions": "Conversations of authors with LAMB's agent that makes assistants.",
    "assistant_test_runs": "Answers of tests of assistants. The questions are imported.",
    "assistant_test_evaluations": "Judgements of tests of assistants. The last verdict of each "
    "question is in its title.",
    "audit_log": "LAMB's own audit log.",
    "config": "Settings of LAMB's server. Set Heddle's by its environment.",
    "libraries": "Libraries of documents. `heddle import-lamb --knowledge` copies them.",
    "library_items": "Documents of libraries. `heddle import-lamb --knowledge` copies them.",
    "kb_content_links": "Documents of libraries that knowledge stores contain.",
    "lti_users": "Learners of links to one assistant. They join its group with their next launch.",
    "lti_activity_users": "Learners of activities. They join its group with their next launch.",
    "lti_identity_links": "Accounts of a learning platform that belong to users of LAMB. Heddle "
    "knows teachers by their e-mail addresses.",
    "collections": "Collections of LAMB's first versions.",
    "model_permissions": "Permissions of LAMB's first versions.",
}
_UNKNOWN = "Heddle does not know this table."
_UNKNOWN_COLUMN = "Heddle does not know this column."
_WITHOUT_EFFECT = {
    "creator_users": {"user_config", "lti_user_id", "auth_provider", "password_hash", "role"},
    "assistant_usage_totals": {"total_tokens_total", "updated_at"},
    "prompt_templates": {"metadata", "updated_at"},
    "bulk_import_logs": {"admin_user_id", "total_count", "success_count", "failure_count"},
    "assistant_test_scenarios": {
        *("description", "scenario_type", "tags", "created_by", "updated_at"),
    },
    "knowledge_stores": {"chunking_strategy", "chunking_params", "vector_db_backend", "status"},
}
"""Columns of imported tables that an import does not need."""


async def left_behind(
    tables: LambTables, columns: Mapping[str, Collection[str]]
) -> list[pb.LeftBehind]:
    """Return the tables that have rows and are not imported, and new columns of the others.

    Args:
        tables: LAMB's tables.
        columns: Those that the import reads, by the names of their tables.
    """
    tables_left = []
    for name in await tables.names():
        if name.lower() in _IMPORTED:
            continue
        if rows := await tables.count(name):
            meaning = _MEANINGS.get(name.lower(), _UNKNOWN)
            tables_left.append(pb.LeftBehind(table=name, rows=rows, meaning=meaning))
    for table, read in columns.items():
        known = {"id", *(each.lower() for each in read), *_WITHOUT_EFFECT.get(table.lower(), ())}
        for column in sorted(await tables.columns(table) - known):
            if rows := await tables.count(table, column):
                name = f"{table}.{column}"
                tables_left.append(pb.LeftBehind(table=name, rows=rows, meaning=_UNKNOWN_COLUMN))
    return tables_left
