"""Documents that the service fetches from servers that users name."""
