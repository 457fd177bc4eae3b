"""Is a launch good? It is booted, a short battery asks what only a running server can answer, and the verdict is kept."""
