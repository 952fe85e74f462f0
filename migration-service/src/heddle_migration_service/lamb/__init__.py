"""What a LAMB database holds, brought into Heddle's.

`opening` reads the database without leaving a trace, `tables` tolerates every schema it ever had,
`organizations`, `users`, `assistants`, `rubrics` and `knowledge_bases` say what becomes of a row,
`fates` what may be kept beside what is there already, `importing` does it all in batches.
"""

from heddle_migration_service.lamb.errors import LambDatabaseError
from heddle_migration_service.lamb.importing import LambImport
from heddle_migration_service.lamb.organizations import UNASSIGNED, Seal

__all__ = ["UNASSIGNED", "LambDatabaseError", "LambImport", "Seal"]
