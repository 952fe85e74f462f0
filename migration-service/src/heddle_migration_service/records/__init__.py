"""`heddle.migration.v1.RecordService`: assistants as LAMB's own clients know them."""
