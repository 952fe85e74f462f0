"""What can go wrong with a query, in words for whoever wrote it."""


class RefusedQueryError(Exception):
    """The query is not run, or has failed. Another one may do."""
