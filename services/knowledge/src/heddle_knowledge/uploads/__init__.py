"""Files that callers upload, and their way into collections."""
