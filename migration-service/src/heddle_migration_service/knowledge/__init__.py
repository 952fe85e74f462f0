"""Copies the collections of LAMB's knowledge-base servers into the knowledge service.

`reading` reads LAMB's servers, `sources` tells who owns their collections, `owners_files` writes
what belongs to one owner, `file_copy` copies one file, and `copying` all collections.
"""
