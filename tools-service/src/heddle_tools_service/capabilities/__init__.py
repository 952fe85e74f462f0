"""What tools can request: one module for each capability, with its class and its data types.

A tool requests a capability by annotating a parameter with the capability's class:

    async def courses(call: ToolCall[NoOptions], moodle: Moodle) -> ToolResult: ...

`app.py` registers what provides each class. See ADR 0050.
"""
