"""Capabilities that tools can request: one module each, with its class and data types.

A tool requests a capability by annotating a parameter with the capability's class:

    async def courses(call: ToolCall[NoOptions], moodle: Moodle) -> ToolResult: ...

`app.py` registers what provides each class. See ADR 6.
"""
