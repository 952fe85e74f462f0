"""`heddle.migration.v1.MigrationService`: migrates all assistants, or restores them.

A job stores no state of its own: each row shows whether anything is left to do with it. A job that
was interrupted continues where it was, and one too many changes nothing.
"""
