"""Time travel: computes states of the past, and answers queries on them."""
