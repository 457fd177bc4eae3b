"""What would go wrong on this machine: facts by small functions, findings by small functions over them, and the mends that are safe."""
