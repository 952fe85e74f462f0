"""Many calls over one long stream between two of our own services (`heddle.multiplex.v1`).

`MultiplexedChannel` stands where generated code wants a channel, `MultiplexServicer` where it wants a server.
Callers and servicers see no difference to a call of its own, but for what it costs.
"""
