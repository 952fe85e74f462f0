"""The fixtures of the databases, and of the services over them."""

from assistants.fixtures import (
    database,
    database_url,
    dialect,
    postgres_server,
    postgres_template,
    service,
    sqlite_template,
)

__all__ = [
    "database",
    "database_url",
    "dialect",
    "postgres_server",
    "postgres_template",
    "service",
    "sqlite_template",
]
