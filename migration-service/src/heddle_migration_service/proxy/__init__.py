"""The reverse proxy: sends to LAMB what Heddle does not serve."""
