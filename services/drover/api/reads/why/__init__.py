"""Explains why a render, a test or a reminder stands where it does, from the rows of the read models. What the fleet
waits for is explained by `drover.domain.fleet.why`, from its state."""
