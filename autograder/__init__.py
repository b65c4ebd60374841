"""Turns reference solutions into exercises, and submissions into grades."""
