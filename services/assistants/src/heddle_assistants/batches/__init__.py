"""`heddle.conversation.v1.BatchService`: requests of a file that are answered one by one."""
