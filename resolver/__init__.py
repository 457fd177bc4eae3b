"""Resolve one vLLM launch from what is asked, what machine it is and which engine runs there.

The public surface is small: `load_rules` reads profiles.yaml and rules/, `Request` holds what is asked,
`resolve` answers with a `Resolution`: a launch, or a refusal that names every reason.
"""
