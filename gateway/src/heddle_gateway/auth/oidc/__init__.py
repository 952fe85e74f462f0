"""Signing in with OpenID Connect: the authorization code flow with PKCE. See docs/adr/0089."""
