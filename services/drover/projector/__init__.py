"""The projector: all projections of the platform, and what runs them. The runtime is `drover.projection`."""
