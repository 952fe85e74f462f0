"""`heddle.assistant.v1.QuestionService`."""
