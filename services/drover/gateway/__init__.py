"""The HTTP and WebSocket service for agents and back offices: answers heartbeats from memory, turns writes into
commands, and answers reads like PostgREST. It has no rules of the fleet."""
