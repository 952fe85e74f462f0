"""How well and how fast passages are found."""
