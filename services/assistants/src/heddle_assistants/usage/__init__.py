"""`heddle.usage.v1.UsageService`: the usage, costs and quotas of assistants."""
