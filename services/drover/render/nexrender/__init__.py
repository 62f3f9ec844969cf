"""The nexrender client: job documents, calls, and the meaning of answers. The worker decides what follows."""
