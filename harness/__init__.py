"""Drives SGLang's own code with every lie that its other side can tell, and says what it did."""

__version__ = "0.1.0"
