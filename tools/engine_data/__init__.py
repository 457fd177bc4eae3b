"""Makes `rules/engines/vllm-<version>.json` from the real wheels of vLLM: flags, variables and attention support."""
