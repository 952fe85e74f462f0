"""Following LAMB's database: what changes there changes in Heddle, within two seconds.

`file_state` says cheaply whether anything may have changed, `rows` finds the rows that did,
`applying` sends them to the assistants service, and `follower` does this again and again while it
has the claim.
"""

from heddle_migration_service.following.follower import Follower

__all__ = ["Follower"]
