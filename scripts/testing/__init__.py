"""Chooses the parts of the tests, builds what they need, plays them side by side and counts."""
