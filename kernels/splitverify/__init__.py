# SPDX-License-Identifier: Apache-2.0
"""Split-KV verify attention for speculative decoding, and the KV stores that go with it.

The name says what it does: it *splits* the KV range of a *verify* step over the multiprocessors. It is not called
`kernels`, because a top-level module of that name hides the Hugging Face package which transformers imports.

Importing this package imports nothing else: no torch, no triton, no vllm. Take what you need from

- ``splitverify.ops``     the kernels and their plain-torch references
- ``splitverify.plugin``  the vLLM plugin
- ``python -m splitverify.bench``, ``python -m splitverify.doctor``
"""

__version__ = "0.1.0"
