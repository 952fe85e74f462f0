"""`heddle.assistant.v1.FollowingService`: applies changes of another installation's database.

`claims` lets one process follow. `applied_rows` stores each row as it was applied last.
`assistants`, `other_tables` and `organizations` compare that with the row of now and with what is
stored here.
"""
