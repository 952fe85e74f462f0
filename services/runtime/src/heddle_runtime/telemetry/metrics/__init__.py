"""Metrics of a process: recorded only if it has a port for them.

`table` declares all metrics. `endpoint` serves them. Without a port, recording a value is one
comparison, and the library is not imported.
"""
