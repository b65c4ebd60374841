"""Reference solutions, one module per exercise: at once a notebook and an importable module."""
