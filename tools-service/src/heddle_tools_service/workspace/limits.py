"""How much a workspace handles. Each limit bounds memory, time or what a model has to read."""

LARGEST_FILE = 2_000_000
"""Bytes of a file that is read or changed."""
LARGEST_PATCH = 10_000_000
"""Bytes of all files of one patch together."""
MOST_FILES = 20
"""Files of one patch."""
MOST_EDITS = 200
"""Changes of one file."""
MOST_BACKUPS = 50
LARGEST_BACKUPS = 100_000_000
"""Bytes that the backups of one workspace may take; the oldest go first."""
LOCK_WAIT = 5.0
"""Seconds that a patch waits for another one of the same file."""
DEEPEST = 32
"""Folders inside each other."""
MOST_VISITED = 20_000
"""Files and folders that one listing or search looks at."""
LARGEST_SEARCH = 50_000_000
"""Bytes that one search reads."""
LONGEST_SEARCH = 8.0
"""Seconds that one search takes."""
