"""Lists, exports and erases the data of a person in the database."""
