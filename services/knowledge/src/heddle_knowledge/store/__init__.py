"""The knowledge store: collections of documents in one place, searched by meaning and words.

Several processes may open the same place; each sees at once what the others commit. Writers
exclude each other per collection, and only for the moment of a commit.
"""

from heddle_knowledge.store.opening import KnowledgeStore, open_store

__all__ = ["KnowledgeStore", "open_store"]
