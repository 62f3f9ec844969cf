"""What it looked like last Tuesday: states of the past, and questions about them. The present is not here."""
