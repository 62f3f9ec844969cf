"""The projector: every projection of the platform, and what runs them all. The runtime is `drover.projection`."""
