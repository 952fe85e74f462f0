"""Answers without a model: quotes the sentences of the sources that match the question best.

`units` splits a passage into sentences, rows and items, `selection` chooses among them, and
`answer` writes the text.
"""
