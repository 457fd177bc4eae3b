"""The tools that make data for the product."""
