"""`/v1/responses`: the runs of chat completions, in the form of OpenAI's Responses."""
