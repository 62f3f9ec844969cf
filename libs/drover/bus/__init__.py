"""Commands and telemetry between services. `drover.writer` answers the commands."""
