"""What touches the world: probing the machine, starting the engine, asking whether it is ready."""
