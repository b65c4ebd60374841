"""Known mistakes and accepted alternatives, one module per exercise."""
