"""The documents and the pages that are made from data: what they show is so, and their commands work."""
