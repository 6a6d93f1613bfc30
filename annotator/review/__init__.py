"""Pure functions over labels: settling, question lint, coverage."""
