"""The `recall` command: one thin file a command."""
