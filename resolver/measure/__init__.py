"""What does a running server do, and how fast? Pure HTTP clients; each tool is a module with `run(server, options) -> Report`."""
