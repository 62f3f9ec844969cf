"""Supabase Realtime: changed rows, broadcasts and presence over one WebSocket (docs/realtime.md)."""
