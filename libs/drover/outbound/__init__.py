"""HTTP calls to addresses that other people chose: checked, bounded, signed, without redirects."""
