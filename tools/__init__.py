"""What writes published files from the code (`make contracts`). None of it is part of the product."""
