"""Triton kernels: our own with their twins in torch, and what upstream's are launched with."""
