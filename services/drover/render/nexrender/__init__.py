"""How nexrender is spoken to: the documents it gets, what its answers mean, the calls. What follows is the worker's."""
