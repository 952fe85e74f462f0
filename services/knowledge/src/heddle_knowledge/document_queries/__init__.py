"""Runs untrusted SQL of models over the metadata of documents.

`guard` reads a query and lets through what it understands; `database` runs it in a database of its
own that cannot be changed; `worker` keeps both in a process that can be ended.
"""
