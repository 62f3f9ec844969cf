"""What a service is made of, and what services of one process share. Which services there are is not known here."""
