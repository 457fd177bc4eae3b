# SPDX-License-Identifier: Apache-2.0
"""What the kernels take. Imports nothing, so that a plugin or a doctor can ask without torch or triton."""

MAX_SEGMENTS = 128
MAX_QUERY_LEN = 64
MAX_GROUP = 16
HEAD_SIZES = (128, 256)
