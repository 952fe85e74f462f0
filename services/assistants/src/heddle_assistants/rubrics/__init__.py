"""Assessment rubrics: people keep them, and the tools of their assistants read them."""
