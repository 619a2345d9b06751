"""Triton kernels: which device they run on, what its interpreter can be trusted with, margins."""
