"""What tools reach the outside with: knowledge bases, files, rubrics, the small model."""
