"""Turns the course's reference solutions into exercises, and submissions into grades: see README.md."""
