"""Every limit of Realtime, in one place. A name with `MAX` is a maximum; one with `AGENT` is for the keys of phones."""

from __future__ import annotations

from typing import Final

SOCKETS_MAX: Final = 5_000
"""Open sockets in one process."""
AGENT_SOCKETS_MAX: Final = 4_000
"""How many of `SOCKETS_MAX` the keys of phones (anon, device) may use. The rest stay free for people."""
CHANNELS_PER_SOCKET_MAX: Final = 100
CHANNELS_MAX: Final = 100_000
"""Open channels in one process. A channel takes 1 KiB of memory."""
AGENT_CHANNELS_MAX: Final = 50_000
"""When a process has this many channels, the keys of phones cannot join more; other keys can."""
SUBSCRIPTIONS_PER_CHANNEL_MAX: Final = 100
SUBSCRIPTIONS_PER_SOCKET_MAX: Final = 500
"""Subscriptions of all channels of one socket. One without a table counts once for each table that the caller may
read."""
SUBSCRIPTIONS_MAX: Final = 100_000
"""Subscriptions of all clients of one process."""
AGENT_SUBSCRIPTIONS_MAX: Final = 50_000
"""When a process has this many subscriptions, the keys of phones cannot add more; other keys can."""
FILTERS_CHARS_MAX: Final = 20_000_000
"""Characters of all filters in one process. A parsed filter takes up to ten times as much memory."""
AGENT_FILTERS_CHARS_MAX: Final = 10_000_000
"""When the filters of a process have this many characters, the keys of phones cannot add more."""
COMPARISONS_MAX: Final = 5_000
"""How many conditions a process may compare with one changed row. Conditions that are indexed (`id=eq.1`) and repeated
subscriptions do not count."""
AGENT_COMPARISONS_MAX: Final = 2_500
"""When a process has this many comparisons, the keys of phones cannot add more."""
PATTERN_COMPARISONS: Final = 5
"""A comparison with a `like` pattern counts as this many comparisons."""
CONDITIONS_MAX: Final = 10
"""Conditions in one filter."""
IN_VALUES_MAX: Final = 100
FILTER_CHARS_MAX: Final = 8_000
PATTERN_CHARS_MAX: Final = 255
"""The length of a `like` pattern. Each changed row is matched against it, and the cost grows with the length."""
TOPIC_CHARS_MAX: Final = 255
"""The length of a topic's name: a binary frame has one byte for it."""
EVENT_CHARS_MAX: Final = 255
KEY_CHARS_MAX: Final = 255
"""The length of a presence key."""
FRAME_BYTES_MAX: Final = 256 * 1024
"""Size of a frame from a client, and of a broadcast over HTTP. NATS accepts messages up to 1 MiB."""
PRESENCE_BYTES_MAX: Final = 4 * 1024
"""Size of the data that one client tracks about itself."""
PRESENCES_PER_TOPIC_MAX: Final = 1_000
PRESENCE_BYTES_PER_TOPIC_MAX: Final = 512 * 1024
"""Size of all presences of a topic. A client that joins gets all of them at once (see `OUTBOUND_BYTES_MAX`)."""
PRESENCES_MAX: Final = 20_000
"""Clients of this process that are present, in all topics together."""
MESSAGES_PER_S: Final = 100.0
"""The average rate of messages that one socket may send. A client needs little more than a heartbeat every 25 s."""
MESSAGES_BURST: Final = 200.0
FRAMES_PER_MESSAGE: Final = 50
"""A broadcast counts as one extra message for every 50 receivers."""
JOIN_BYTES_PER_MESSAGE: Final = 4 * 1024
"""A join counts as one extra message per this many bytes, because its filters must be parsed."""
PATTERN_CHARS_PER_MESSAGE: Final = 50
"""A join counts as one extra message per this many characters of filters with `like`, which must be compiled."""
HTTP_MESSAGES_MAX: Final = 100
"""Broadcasts in one HTTP request."""
OUTBOUND_BYTES_MAX: Final = 1024 * 1024
"""Bytes queued for one client. A client with more is disconnected; it reconnects and reads again."""
OUTBOUND_TOTAL_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes queued for all clients of a process together."""
OUTBOUND_FAIR_BYTES: Final = 64 * 1024
"""While `OUTBOUND_TOTAL_BYTES_MAX` is exceeded, clients with more queued bytes than this are disconnected."""
SILENT_AFTER_S: Final = 90.0
"""A client that sends nothing for this many seconds is disconnected. Clients send a heartbeat every 25 s."""
CLOSE_WITHIN_S: Final = 1.5
"""Seconds to send the last frames and to finish the closing handshake. After them the connection is aborted."""
LOOK_S: Final = 1.0
"""Seconds between two checks for expired tokens, ended sessions and channels that have missed changes."""
REJOIN_AFTER_S: Final = 5.0
"""A channel is asked to join and read again no sooner than this many seconds after its last join."""
REJOINS_PER_LOOK_MAX: Final = 500
"""How many channels one check asks to join again."""
BEAT_S: Final = 5.0
"""Seconds between two heartbeats of a process to the other processes."""
SILENT_PEER_S: Final = 16.0
"""After this many seconds without a message (three missed heartbeats), a process counts as stopped, and its clients as
absent."""
PEER_QUEUE_MAX: Final = 10_000
"""Messages that wait to be sent to other processes. Beyond it, messages are dropped."""
SNAPSHOT_BYTES_MAX: Final = 512 * 1024
"""Size of the presences in one message to another process."""
