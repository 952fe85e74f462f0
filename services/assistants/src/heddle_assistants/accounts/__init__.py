"""Organisations, their people, their keys and settings.

`bootstrap.account_service` is the way in. `encryption` and `secret_members` keep the secrets in
settings encrypted; `resolution` knows LAMB's form of settings. Both are pure.
"""
