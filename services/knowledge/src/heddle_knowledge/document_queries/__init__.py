"""SQL over what is known about documents, written by models and therefore trusted by nobody.

`guard` reads a query and lets through what it understands; `database` runs it in a database of its
own that cannot be changed; `worker` keeps both in a process that can be ended.
"""
