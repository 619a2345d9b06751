"""How upstream's own functions are driven: one file for each seam."""
