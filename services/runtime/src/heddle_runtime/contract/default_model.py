"""The model of assistants that answer with the default model of their organisation."""

DEFAULT_CONNECTOR = "default"
"""The connector that stands for the organisation's default model. No plugin has this name."""
DEFAULT_MODEL = "default"
"""The only model of `DEFAULT_CONNECTOR`."""
