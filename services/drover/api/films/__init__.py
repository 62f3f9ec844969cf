"""Finished renders as films in a browser: piece by piece from the NAS, for those who may see what is in them."""
