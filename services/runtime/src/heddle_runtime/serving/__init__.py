"""The process of a service: its server, plugins, health, and slots for heavy work."""
