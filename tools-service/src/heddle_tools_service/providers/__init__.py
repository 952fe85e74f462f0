"""Providers of capabilities: knowledge bases, files, rubrics, the small model."""
