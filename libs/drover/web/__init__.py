"""What every HTTP service shares: application, sign-in, errors, bodies, the PostgREST subset. No service's routes."""
