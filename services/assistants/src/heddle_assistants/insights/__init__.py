"""What learners ask assistants, in counts."""
