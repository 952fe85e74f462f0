"""Many calls over one long stream between two of our own services (`heddle.pipe.v1`).

`PipeChannel` stands where generated code wants a channel, `PipeServicer` where it wants a server.
Callers and servicers see no difference to a call of its own, but for what it costs.
"""
