"""The built-in tools. The service finds each module of this package at start.

A new tool needs, in this order:

1. its module (copy `word_count.py`): a `title`, a `label` of at most 24 characters, the first line
   of the docstring as its description, and a `title` and a `description` for each option. A tool
   that changes something outside of the answer also needs an `effect`,
2. an entry for each of these texts, by the English text, in `translations/ca.json`, `es.json` and
   `eu.json`,
3. its golden file `tests/golden/tools/NAME.json`, the definition that clients rely on. This
   command writes it: `PYTHONPATH=tests .venv/bin/python -m tools_service.test_tools_conform`.

`tests/tools_service/test_tools_conform.py` tests all of it, and runs the tool's own examples. The
documentation lists the tool by itself.
"""
