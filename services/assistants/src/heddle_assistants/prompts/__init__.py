"""Stores prompts, which users save to insert them into their assistants."""
