"""An upgrade played: an earlier commit under load, then this one, then back, over one log."""
