"""Organisations, their people, their keys and settings.

`bootstrap.account_service` is the way in. `encryption` and `secret_members` keep the secrets in
settings encrypted; `resolution` reads settings. Both are pure.
"""
