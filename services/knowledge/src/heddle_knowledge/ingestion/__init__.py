"""From a document that arrives to its rows in a collection, together with others."""
