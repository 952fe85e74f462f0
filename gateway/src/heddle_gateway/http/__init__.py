"""HTTP: connections, request bodies, JSON, error responses, and the OpenAPI document."""
