"""The connector to Anthropic, and to servers with its Messages API."""

from heddle_connector.connectors.anthropic.connector import Anthropic

__all__ = ["Anthropic"]
