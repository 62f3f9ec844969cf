"""What each relation takes in a write: which columns mean which command. `writes` has the mechanism."""
