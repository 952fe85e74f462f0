"""Launches from learning platforms: LTI 1.1 at LAMB's paths, for links that exist, and LTI 1.3.

`lamb_links` and `links` check launches, `launches` lets a verified person in. What an import takes
over is in `heddle_migration_service.lamb.lti_links`.
"""
