"""The commands `seewhy lab ...`."""
