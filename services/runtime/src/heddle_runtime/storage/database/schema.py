"""The tables of a member."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, MetaData, Table, Text

_COMPATIBILITY = "schema_compatibility"


def new_metadata() -> MetaData:
    """Return the metadata for the tables of a member, with a table that describes the others.

    `schema_compatibility` has one row: the revision of the oldest version that works with the
    tables.
    """
    # Without names of their own, constraints could not be altered on both databases alike.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    Table(_COMPATIBILITY, metadata, Column("oldest_revision", Text, primary_key=True))
    return metadata


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a member, and the steps to them from those of earlier versions."""

    metadata: MetaData
    """As `new_metadata` returns it, with the tables that a new database gets."""
    revisions: Path
    """The folder of Alembic's revisions."""
    module: str = ""
    """The Python module that downgrades the tables, if there is one."""

    @property
    def compatibility(self) -> Table:
        """The table that states the version of the others."""
        return self.metadata.tables[_COMPATIBILITY]

    @property
    def tables(self) -> tuple[Table, ...]:
        """The other tables. A table comes after those that it refers to."""
        return tuple(each for each in self.metadata.sorted_tables if each.name != _COMPATIBILITY)
