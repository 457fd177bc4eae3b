"""A vLLM that runs without a GPU, and a model small enough for it.

`python -m tools.cpu_engine install --venv DIR` makes the engine, `python -m tools.cpu_engine model --out DIR` the model.
Both need nothing beyond the standard library; README.md beside this file says what is downloaded and why.
"""
