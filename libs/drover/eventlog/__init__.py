"""The log: append with an expected sequence, read, snapshots, the wire form. Nothing is decided here."""
