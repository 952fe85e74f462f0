"""Stores what users write and share with their organisation: rubrics and prompts."""
