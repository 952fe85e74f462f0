"""Collections of other search engines, which this service searches and never changes."""
