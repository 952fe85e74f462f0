"""The HTTP/1.1 client for model providers, and the decoders of streamed bodies.

One client serves `http://` and `https://`. ADR 7 records why it is not a library.
"""

from heddle_connector.http.client import HttpClient, http_client
from heddle_connector.http.request import Request

__all__ = ["HttpClient", "Request", "http_client"]
