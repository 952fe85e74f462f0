"""What the database has of a person: listing, exporting and erasing it."""
