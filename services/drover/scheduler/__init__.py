"""The writer of `fleet`, and presence: who is heard, and whose work moves. The rules live in `drover.domain.fleet`."""
