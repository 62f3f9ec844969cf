"""The receivers of notices, such as Slack: one module each, chosen by settings."""
