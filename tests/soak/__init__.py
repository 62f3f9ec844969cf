"""A big farm for minutes: `make soak`. Not part of `make test`."""
