"""`heddle.usage.v1.UsageService`: what assistants consume, what it costs, what they may spend."""
