"""What happens when parts of a cluster die: three NATS nodes, two of every service, and a load that is counted."""
