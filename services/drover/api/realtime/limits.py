"""Every bound of Realtime, in one place."""

from __future__ import annotations

from typing import Final

SOCKETS_MAX: Final = 5_000
"""Open at once in one process."""
AGENT_SOCKETS_MAX: Final = 4_000
"""Of them for the keys of phones (anon, device): a farm of them must not use up the sockets of people."""
CHANNELS_PER_SOCKET_MAX: Final = 100
CHANNELS_MAX: Final = 100_000
"""In one process. A channel takes 1 KiB."""
AGENT_CHANNELS_MAX: Final = 50_000
"""With so many in the process, the keys of phones get no more."""
SUBSCRIPTIONS_PER_CHANNEL_MAX: Final = 100
SUBSCRIPTIONS_PER_SOCKET_MAX: Final = 500
"""One without a table counts for each table that the caller may read."""
SUBSCRIPTIONS_MAX: Final = 100_000
"""In one process."""
AGENT_SUBSCRIPTIONS_MAX: Final = 50_000
"""With so many in the process, the keys of phones get no more."""
FILTERS_CHARS_MAX: Final = 20_000_000
"""Of all filters in one process. Parsed, a filter takes ten times as much at most."""
AGENT_FILTERS_CHARS_MAX: Final = 10_000_000
"""With so many in the process, the keys of phones get no more."""
COMPARISONS_MAX: Final = 5_000
"""In one process: with so many conditions a changed row may be compared. Conditions by which a subscription is found
(`id=eq.1`) and equal subscriptions do not count."""
AGENT_COMPARISONS_MAX: Final = 2_500
"""With so many in the process, the keys of phones get no more."""
PATTERN_COMPARISONS: Final = 5
"""What a comparison with a pattern counts for."""
CONDITIONS_MAX: Final = 10
"""In one filter."""
IN_VALUES_MAX: Final = 100
FILTER_CHARS_MAX: Final = 8_000
PATTERN_CHARS_MAX: Final = 255
"""Of `like`. It is compared with every changed row, at a cost of its length for each character of the value."""
TOPIC_CHARS_MAX: Final = 255
"""The length of a topic is one byte in a binary frame."""
EVENT_CHARS_MAX: Final = 255
KEY_CHARS_MAX: Final = 255
"""Of a presence."""
FRAME_BYTES_MAX: Final = 256 * 1024
"""From a client, and of one broadcast. A NATS server accepts 1 MiB."""
PRESENCE_BYTES_MAX: Final = 4 * 1024
"""What one client may say of itself."""
PRESENCES_PER_TOPIC_MAX: Final = 1_000
PRESENCE_BYTES_PER_TOPIC_MAX: Final = 512 * 1024
"""Whoever joins is told all of it at once, and no more than `OUTBOUND_BYTES_MAX` may wait for a client."""
PRESENCES_MAX: Final = 20_000
"""In one process, of its own clients."""
MESSAGES_PER_S: Final = 100.0
"""From one socket, in the long run. Clients need fewer: a heartbeat each 25 s, and what people do."""
MESSAGES_BURST: Final = 200.0
FRAMES_PER_MESSAGE: Final = 50
"""A broadcast counts as one more message for each of so many receivers."""
JOIN_BYTES_PER_MESSAGE: Final = 4 * 1024
"""A join counts as one more message for so many bytes, because its filters must be parsed."""
PATTERN_CHARS_PER_MESSAGE: Final = 50
"""And for so many characters of filters with `like`, each of which is compiled."""
HTTP_MESSAGES_MAX: Final = 100
"""In one request."""
OUTBOUND_BYTES_MAX: Final = 1024 * 1024
"""That may wait for one client. Beyond it the client is disconnected; it comes back and reads again."""
OUTBOUND_TOTAL_BYTES_MAX: Final = 256 * 1024 * 1024
"""That may wait for all clients of a process together."""
OUTBOUND_FAIR_BYTES: Final = 64 * 1024
"""Beyond the total, those are disconnected for whom more than this waits."""
SILENT_AFTER_S: Final = 90.0
"""Clients send a heartbeat each 25 s."""
CLOSE_WITHIN_S: Final = 1.5
"""For the last frames and the closing handshake together; then the connection is aborted."""
LOOK_S: Final = 1.0
"""How often expired tokens, ended sessions and channels that have missed changes are looked for."""
REJOIN_AFTER_S: Final = 5.0
"""A channel is not told more often than this to join and read again."""
REJOINS_PER_LOOK_MAX: Final = 500
"""How many are told at once."""
BEAT_S: Final = 5.0
"""How often a process tells the others that it is there."""
SILENT_PEER_S: Final = 16.0
"""A process without three of its beats is gone, and everybody who was present there."""
PEER_QUEUE_MAX: Final = 10_000
"""Messages on their way to other processes."""
SNAPSHOT_BYTES_MAX: Final = 512 * 1024
"""Of presences in one message."""
