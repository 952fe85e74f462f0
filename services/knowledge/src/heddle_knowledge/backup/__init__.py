"""Exports and imports the data of the knowledge service, in rows that are the same for any storage.

Each module reads the rows of one kind, and brings them into an empty installation.
"""
