"""`heddle.migration.v1.MigrationService`: all assistants at once, forth and back.

A sweep needs no memory of its own: each row tells whether anything is left to do with it. So one
that was cut goes on where it was, and one too many changes nothing.
"""
