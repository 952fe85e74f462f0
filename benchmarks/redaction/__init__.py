"""What `heddle_runtime.redaction` finds, what it changes by mistake, and how long it takes."""
