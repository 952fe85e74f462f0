"""Groups of learners: their teachers, members and assistants."""
