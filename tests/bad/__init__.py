"""Broken rules, machines and overlays: each gives one clear error at the right place, and none a traceback."""
