"""The OpenAPI 3.1 document, generated from the declared routes (`web.route`)."""
