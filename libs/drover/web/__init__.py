"""Shared by every HTTP service: application, authentication, permissions, limits, PostgREST. No service's routes."""
