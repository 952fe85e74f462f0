"""The commands, one module each: options in, calls, lines out."""
