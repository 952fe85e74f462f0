"""The tables of the assistants service, and the steps from those of earlier versions."""
