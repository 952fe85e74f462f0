"""Sources beside folders, from which `heddle ingest` brings documents: each becomes a folder."""
