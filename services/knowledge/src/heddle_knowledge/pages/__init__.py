"""Pages of documents that one can see: their pictures, what stands in their figures, their search.

`page_store` is what the store uses. Pages are kept by the content that they are of, in a file
beside the tables, so neither a crash nor a replaced document leaves a wrong one.
"""
