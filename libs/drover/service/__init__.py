"""What every process has: lifecycle, configuration, health, logs, metrics, traces. No HTTP and no NATS."""
