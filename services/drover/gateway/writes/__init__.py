"""Handles POST, PATCH and DELETE of rows at `/rest/v1`. The package `tables` declares what each table takes."""
