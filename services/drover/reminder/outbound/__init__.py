"""Calls to addresses that others have named: checked, bounded, and not turned elsewhere."""
