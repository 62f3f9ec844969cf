"""Ways to send a reminder: one module each, chosen by DROVER_REMINDER_PROVIDER."""
