"""How well, how fast and at what price the agent's deciders choose."""
