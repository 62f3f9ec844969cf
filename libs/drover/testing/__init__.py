"""What tests of Drover, and of agents and deciders written for it, are made of. Shipped, so that users can use it."""
