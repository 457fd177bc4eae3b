# SPDX-License-Identifier: Apache-2.0
"""The plugin in a real engine on a real GPU: what travels there, the launches, the run, and what came of it. See README.md."""
