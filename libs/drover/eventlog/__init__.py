"""The log: append with an expected sequence, read, snapshots, encoding. Nothing is decided here."""
