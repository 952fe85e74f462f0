"""`/v1/messages`: the runs of chat completions, in the form of Anthropic's Messages."""
