"""Which connector and model answer a call: plugins, tenants, model catalog, fallback."""
