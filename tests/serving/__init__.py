"""Tests of what touches the world: probe, exec, readiness."""
