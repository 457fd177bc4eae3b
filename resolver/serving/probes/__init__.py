"""One small function a fact. Each returns the value, or raises `Unknown` with the reason; none guesses."""
