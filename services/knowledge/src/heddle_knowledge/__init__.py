"""The embedded knowledge engine: documents in, passages out.

A library of its own: it knows neither gRPC nor the contracts. `store.open_store` is the way in,
`embedding.MiniLmEmbedder` the vectors it uses by default, `errors` what can go wrong.
"""
