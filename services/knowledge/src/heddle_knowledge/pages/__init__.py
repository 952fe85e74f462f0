"""Pages of documents as pictures: their storage, the texts of their figures, and their search.

`page_store` is what the store uses. Pages are kept by the content that they are of, in a file
beside the tables, so neither a crash nor a replaced document leaves a wrong one.
"""
