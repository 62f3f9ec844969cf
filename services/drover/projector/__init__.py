"""The projector service: the projections of all contexts, which turn events into rows. `drover.projection` runs
them."""
