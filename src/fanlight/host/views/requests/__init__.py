"""Requests in both directions: those of Views, served by the host, and those of the host, answered by Views."""
