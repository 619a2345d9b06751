"""Clauses that several seams share."""
