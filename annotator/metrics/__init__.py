"""Measures and their evaluation. No store, no numpy, no pandas."""
