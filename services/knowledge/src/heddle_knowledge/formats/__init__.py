"""One reader per document format: text or bytes in, a title and blocks out."""
