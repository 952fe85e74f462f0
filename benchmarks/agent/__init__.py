"""Quality, speed and token use of the agent's routers."""
