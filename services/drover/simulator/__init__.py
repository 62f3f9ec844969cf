"""The simulated farm: PCs with phones that talk real HTTP to Drover. It operates no app, no account and no device."""
