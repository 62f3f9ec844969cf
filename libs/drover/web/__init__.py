"""What every HTTP service shares: application, sign-in, permissions, limits, PostgREST. No service's routes."""
