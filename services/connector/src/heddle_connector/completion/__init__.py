"""OpenAI's chat completions format: request bodies out, response bodies in."""
