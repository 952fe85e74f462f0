"""The HTTP/1.1 client for model providers, and the decoders of streamed bodies.

One client serves `http://` and `https://`. It is not a library because the fastest, aiohttp, takes
1.5 times the CPU of a whole request at 16 clients (ADR 7).
"""

from heddle_connector.http.client import HttpClient, http_client
from heddle_connector.http.request import Request

__all__ = ["HttpClient", "Request", "http_client"]
