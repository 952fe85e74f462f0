"""Files, objects and databases of services, and their failures."""
