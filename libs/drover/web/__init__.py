"""What all HTTP services share: application, authentication, permissions, limits, PostgREST. No routes of a service."""
