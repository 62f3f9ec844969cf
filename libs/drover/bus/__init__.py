"""Commands and telemetry between services. What answers commands lives in `drover.writer`."""
