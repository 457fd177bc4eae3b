"""Code that runs inside the parser environment, where vLLM can be imported; started by `tools.engine_data.environment`.

Every module here has `run(payload) -> result`, both plain JSON values. The modules import vLLM inside functions only.
"""
