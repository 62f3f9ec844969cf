"""The writer of `fleet`, and presence: who has been heard lately. The fleet's rules live in `drover.domain.fleet`."""
