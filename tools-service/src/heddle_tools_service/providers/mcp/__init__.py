"""Talks to MCP servers. The official SDK is loaded when the first of them is used."""
