"""`heddle.assistant.v1.SharingService`."""
