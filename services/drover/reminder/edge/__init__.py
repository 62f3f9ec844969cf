"""`/api/reminder/*`: what apps and the back office ask. Works in any process: commands go over the bus."""
