"""Read models filled in bulk, by SQL alone: as large as a farm's after weeks. Not folded from a log."""
