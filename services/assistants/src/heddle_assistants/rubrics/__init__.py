"""Stores assessment rubrics, which users write and the tools of their assistants read."""
