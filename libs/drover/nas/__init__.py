"""Delivery to the NAS: file names, the port `store`, and its adapters for a mounted path and for SMB."""
