"""Tools for tests of Drover, and of agents and deciders for it. Shipped, so that users can use them."""
