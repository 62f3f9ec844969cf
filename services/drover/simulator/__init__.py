"""The simulated farm: PCs with phones that talk real HTTP to Drover. It uses no real app, account or device."""
