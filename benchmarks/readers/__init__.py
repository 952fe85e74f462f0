"""How much of documents their readers keep, beside pandoc, poppler and other libraries."""
