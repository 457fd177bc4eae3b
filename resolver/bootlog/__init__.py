"""Read the log of a vLLM boot (0.28 to 0.33) and compare it with what the arithmetic predicts."""
