"""Values that services send each other: messages, pages, limits, and texts that others write."""
