"""The documentation as a site: `make docs` builds it from docs/, and generates the reference from the code."""
