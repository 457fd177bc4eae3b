"""The arithmetic of the KV pool: blocks, pages, what one request takes, and what the engine prints. Pure; nothing is read here but shapes."""
