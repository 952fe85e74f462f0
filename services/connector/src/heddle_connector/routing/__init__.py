"""Which connector and model answer a call: plugins, tenants, model catalogue, fallback."""
