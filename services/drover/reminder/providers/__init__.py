"""The providers, which send reminders: one module each, chosen by DROVER_REMINDER_PROVIDER."""
