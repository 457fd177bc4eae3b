"""The matrix as one page for a browser: every answer is computed here by the resolver, and the page only looks them up."""
