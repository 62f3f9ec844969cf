"""The command `drover`: how people start, watch and question the platform."""
