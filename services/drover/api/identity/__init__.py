"""The built-in issuer: people sign in, refresh their tokens, see and end their sessions; admins manage accounts."""
