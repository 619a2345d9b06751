"""Stand-ins for the other side of a seam: honest first, and lying only through a fault."""
