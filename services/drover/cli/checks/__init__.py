"""What `drover doctor` looks at: small functions that each find one thing. The list of them is in `doctor`."""
