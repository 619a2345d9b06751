"""Kernels of Seamproof's own, each with a twin in torch that it must equal bit for bit."""
