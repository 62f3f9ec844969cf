"""What HTTP here looks like, as an OpenAPI 3.1 document made from the code. Routes themselves are added elsewhere."""
