"""Commands that operate a running farm. They are HTTP clients, so permissions, limits, audit and validation are those
of the platform."""
