"""Delivery to the NAS: names, the port `store`, and its adapters for a mounted path and for SMB."""
