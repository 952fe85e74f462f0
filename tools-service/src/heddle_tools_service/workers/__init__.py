"""Runs plugins in processes of their own, which have no files, no network and no secrets.

The service starts one fork server, which has imported what plugins need. For each plugin it forks a
process, which confines itself (`confinement`) and then imports the plugin. What runs there is in
`heddle_tools_service.plugin_process`. The service sends requests of the tool contract over a socket
(`frames`) and carries out the methods of capabilities that the plugin calls (`interfaces`,
`capability_calls`). A process that hangs or ends is replaced (`supervisor`).
"""
