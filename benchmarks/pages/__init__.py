"""How well pages of manuals are found: `python -m benchmarks.pages`."""
