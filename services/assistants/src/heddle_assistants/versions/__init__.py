"""`heddle.assistant.v1.VersionService`. The package `repository` writes the versions."""
