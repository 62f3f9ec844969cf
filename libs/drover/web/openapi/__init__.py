"""What HTTP here looks like, as an OpenAPI 3.1 document made from the declared routes (`web.route`)."""
