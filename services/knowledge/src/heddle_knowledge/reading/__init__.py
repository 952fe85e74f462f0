"""From a document's bytes to its blocks of text, in a process of its own."""
