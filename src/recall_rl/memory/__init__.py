"""What is remembered: append-only rows of every task, and random batches of them."""
