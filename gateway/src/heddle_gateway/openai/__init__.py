"""OpenAI's interface: chat completions, models, images, files and vector stores."""
