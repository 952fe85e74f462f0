"""The built-in tools. The service finds each module of this package at start.

A new tool needs, beside its module (copy `word_count.py`):

- a `label` of at most 24 characters, and a title and description of each option,
- its `translations/ca.json`, `es.json` and `eu.json`: the translation of each of these texts,
- the file of its definition that clients rely on, which this command writes:
  `PYTHONPATH=tests .venv/bin/python -m tools_service.test_tools_conform`.

`tests/tools_service/test_tools_conform.py` tests all of it, and runs the tool's own examples.
"""
