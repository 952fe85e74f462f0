"""`heddle.assistant.v1.JobService`: the jobs of the migration."""
