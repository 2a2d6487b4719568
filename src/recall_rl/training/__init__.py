"""The loop: Algorithm 1 of the paper, stage by stage, and the evaluation that watches it."""
