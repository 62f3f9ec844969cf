"""The log: append with an expected sequence, read back, snapshots, the wire form. Deciding is not done here."""
