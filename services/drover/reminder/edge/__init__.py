"""`/api/reminder/*`: the routes for apps and the back office. Works in any process: commands go over the bus."""
