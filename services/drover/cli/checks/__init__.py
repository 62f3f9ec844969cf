"""The checks of `drover doctor`: one small function each. `doctor` lists them."""
