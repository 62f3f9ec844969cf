"""The command `drover`: people start, watch and query the platform with it."""
