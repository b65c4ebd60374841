"""What limits a GPU: `python -m benchmarks.gpu`."""
