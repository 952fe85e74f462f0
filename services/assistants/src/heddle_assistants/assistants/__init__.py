"""`heddle.assistant.v1.AssistantService`."""
