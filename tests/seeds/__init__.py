"""The users' own programs, written from the five documents, and what runs them."""
