"""The guards in other forms: one fast Python function, and expressions of a second rule engine that gives an independent opinion."""
