"""The connector to the embedded model."""

from heddle_connector.connectors.local.connector import Local

__all__ = ["Local"]
