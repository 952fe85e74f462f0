"""Organisations, their people, their keys and settings.

`opening.account_service` is the way in. `sealing` and `secret_members` keep the secrets in settings
encrypted; `resolution` knows LAMB's form of settings. Both are pure.
"""
