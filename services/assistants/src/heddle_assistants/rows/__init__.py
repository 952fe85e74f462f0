"""`heddle.assistant.v1.RowService` and `RowBatchService`: the database, for the migration service."""
