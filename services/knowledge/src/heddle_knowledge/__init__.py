"""The embedded knowledge engine: documents in, passages out.

A library of its own: it knows no contract. `store.open_store` is the way in,
`local_embedders.LocalEmbedder` the vectors it uses by default, `errors` what can go wrong.
"""

import os

# Arrow reads it when it is loaded. Its own allocator keeps what each thread has freed; the C
# library returns it (see `released_memory`).
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# Threads for the product of a small matrix and a vector wait for each other longer than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
