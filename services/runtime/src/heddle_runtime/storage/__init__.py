"""Files and objects of services, and their failures."""
