"""The servers that the services of these tests use."""

from shared_servers import object_server

__all__ = ["object_server"]
