"""`heddle backup` and `heddle restore`: everything that the services store, in one archive.

An archive does not depend on the engines: what SQLite and a folder held can be restored into
PostgreSQL, and back.
"""
