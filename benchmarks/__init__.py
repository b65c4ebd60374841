"""Timings, each a ratio against something run beside it. Results lie next to the scripts as JSON."""
