"""The read-model API: what people and the dashboard ask. Agents talk to the gateway."""
