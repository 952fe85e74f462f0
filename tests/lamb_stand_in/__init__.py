"""A stand-in for LAMB, written from its documents: logins, pages, files, streams and failures."""
