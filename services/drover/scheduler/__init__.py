"""The scheduler: the writer of `fleet`, and presence of devices. The rules are in `drover.domain.fleet`."""
