"""`RowService` and `RowBatchService`: the rows of the database, for the migration service."""
