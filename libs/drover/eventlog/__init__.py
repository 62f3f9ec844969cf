"""The log: append with an expected sequence, read back, snapshots, the wire form. Deciding what to append is not here."""
