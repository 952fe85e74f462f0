"""Heddle's own interface: assistants, rubrics, usage and health."""
