# SPDX-License-Identifier: Apache-2.0
"""Without a GPU the kernels run in Triton's interpreter; that must be decided before triton is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
torch.set_num_threads(1)
