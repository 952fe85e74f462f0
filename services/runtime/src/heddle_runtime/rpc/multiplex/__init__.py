"""Many calls over one long stream between two of our own services (`heddle.multiplex.v1`).

`MultiplexedChannel` takes the place of a gRPC channel and `MultiplexServicer` that of a server in
generated code. A multiplexed call behaves like a gRPC call of its own and costs less.
"""
