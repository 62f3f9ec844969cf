"""A NATS server in memory, on a simulated network: what Drover uses of it, with the answers of nats-server 2.15.

Clients are the real ones of nats-py: they speak to it through its protocol. `tests/contract/nats` runs the same tests
against it and against the real server. It refuses what no such test covers.
"""
