"""Programs that make what the product needs: data about engines, and an engine for machines without a GPU."""
