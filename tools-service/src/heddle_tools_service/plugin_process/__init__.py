"""The code that runs in the processes of plugins; see `heddle_tools_service.workers`."""
