"""The connectors of Heddle. A module put here is found at start; it imports the SDK only.

A new connector (copy `bypass.py`, or `ollama.py` for a provider) needs an `example` in its
decorator, with which `tests/connector/test_conformance.py` tests it, and either
`for_all_organizations` or `FromOrganization` at the settings that each organisation supplies.
After a new setting, `python -m docs.project.compose` passes it on to the containers.
"""
