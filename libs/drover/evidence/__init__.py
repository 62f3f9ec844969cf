"""Pictures that phones send along with a failure: what a picture is, how it is named, where it is kept and for how
long. The routes are in `gateway` (uploads) and `api` (reads, erasure)."""
