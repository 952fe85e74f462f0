"""What the knowledge service stores, as rows that are the same wherever it is stored.

Each module reads the rows of one kind, and brings them into an empty installation.
"""
