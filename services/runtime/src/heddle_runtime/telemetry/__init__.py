"""Traces of requests that were drawn: spans, their context between processes, and their export.

A request that was not drawn costs a comparison where a span would be, and nothing of the library.
"""
