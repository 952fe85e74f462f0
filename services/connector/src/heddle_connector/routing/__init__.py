"""Selects the connector and model of a call: plugins, tenants, model catalogue, fallback."""
