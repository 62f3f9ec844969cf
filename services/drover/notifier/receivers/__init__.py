"""Where notices go: one module each, chosen by settings."""
