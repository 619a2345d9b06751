"""Reports: the same results as a table, JSON, Markdown or JUnit XML."""
