"""What a run leaves behind: one folder with its config, journal and weights."""
