# SPDX-License-Identifier: Apache-2.0
"""Benchmarks. Correctness first: no module here prints a speed of a kernel whose result was not checked."""
