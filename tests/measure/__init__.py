"""Tests of the measuring tools."""
