"""The engine data against reference dumps, the real parser and the real configuration of vLLM."""
