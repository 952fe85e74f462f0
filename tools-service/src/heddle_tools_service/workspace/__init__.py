"""The workspace engine: reads, searches and changes text files inside one folder, all or nothing.

It knows no contract and no tool; `heddle_tools_service.providers.workspaces` opens it for a caller.
"""
