"""The pages of docs/ that are made from data: `python -m resolver.views.reference` writes them all, `--check` compares them."""
