"""The dashboard in a real browser, against a real platform. A package, so that both end with its last test."""
