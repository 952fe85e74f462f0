"""The limits of a workspace. Each bounds memory, time or the text that a model has to read."""

MAX_FILE_BYTES = 2_000_000
"""Bytes of a file that is read or changed."""
MAX_PATCH_BYTES = 10_000_000
"""Bytes of all files of one patch together."""
MAX_FILES = 20
"""Files of one patch."""
MAX_EDITS = 200
"""Changes of one file."""
MAX_BACKUPS = 50
MAX_BACKUPS_BYTES = 100_000_000
"""Bytes that the backups of one workspace may take; the oldest go first."""
LOCK_WAIT = 5.0
"""Seconds that a patch waits for another one of the same file."""
DEEPEST = 32
"""The maximum depth of folders."""
MAX_VISITED = 20_000
"""Files and folders that one listing or search looks at."""
MAX_SEARCH_BYTES = 50_000_000
"""Bytes that one search reads."""
MAX_SEARCH_SECONDS = 8.0
"""Seconds that one search takes."""
