"""What a newcomer's first answers are worth: without a model, and with the embedded one."""
