"""Kernels: exact ways to compute the attention that a scheme defines."""

from posexp.model.kernels.choice import KERNELS, IllegalKernelError, kernel_for, legal_kernels
from posexp.model.kernels.kernel import Kernel

__all__ = ["KERNELS", "IllegalKernelError", "Kernel", "kernel_for", "legal_kernels"]
