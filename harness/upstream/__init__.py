"""SGLang's own code: finding a tree of it, and loading from that tree what a seam needs."""
