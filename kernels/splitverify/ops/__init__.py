# SPDX-License-Identifier: Apache-2.0
"""The kernels. One stem each: ``<stem>.py`` the kernel, ``<stem>_ref.py`` the same in plain torch."""
