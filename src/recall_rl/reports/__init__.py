"""What a run did, for people to look at."""
