"""The scheduler: the writer of the context `fleet`, and the watch for silent devices. The rules are in
`drover.domain.fleet`."""
