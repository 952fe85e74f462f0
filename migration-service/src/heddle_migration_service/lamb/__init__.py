"""Imports LAMB databases.

`snapshot` reads a database without leaving a trace, `tables` tolerates every schema it ever had.
`organizations`, `users`, `assistants`, `rubrics` and `knowledge_bases` say what Heddle stores of a
row. `importing` sends them to the assistants service in batches.
"""

from heddle_migration_service.lamb.errors import LambDatabaseError
from heddle_migration_service.lamb.importing import LambImport
from heddle_migration_service.lamb.organization_slugs import UNASSIGNED

__all__ = ["UNASSIGNED", "LambDatabaseError", "LambImport"]
