"""Calls to addresses that others have named: checked, bounded, signed, and not turned elsewhere."""
