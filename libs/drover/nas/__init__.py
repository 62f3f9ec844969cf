"""Copies files to the NAS: file names, the interface `store`, and its implementations for a mounted path and for
SMB."""
