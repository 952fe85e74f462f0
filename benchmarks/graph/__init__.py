"""What a graph costs: drawing it, its themes, its ways.

`python -m benchmarks.graph` draws one of the descriptions of Debian packages that apt knows.
"""
