"""The simulated farm: PCs with phones that send real HTTP requests to Drover. It uses no real app, account or
device."""
