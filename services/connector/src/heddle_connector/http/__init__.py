"""The HTTP client for model providers, and the decoders of streamed bodies."""
