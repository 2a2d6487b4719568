"""What is learnt: tasks, the stages they are met in, and the protocols they are measured under."""
