"""The panels of the page: one module for each, with its state and its routes."""
