"""Many runs: what is to be run, what is shared between them, and who does the work."""
