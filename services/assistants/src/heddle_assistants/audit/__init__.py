"""The audit log: who changed what.

`log.AuditLog` opens the transactions of all changes and adds their events; `verification` checks
the chain of the events, and `servicer` answers calls about them. See docs/adr/0082.
"""
