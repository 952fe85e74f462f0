"""The service that stores assistants, organisations, users, keys, rubrics and usage."""
