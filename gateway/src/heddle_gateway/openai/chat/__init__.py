"""Chat completions, as a raw ASGI handler behind three paths.

All other routes use Starlette. These stay raw because they carry nearly all requests, and each
token of a stream: Starlette's routing, middleware and request objects would add to the CPU time of
each. ADR 48 has the figures.
"""
