"""What a service consists of, and what the services of one process share. Which services exist is not known here."""
