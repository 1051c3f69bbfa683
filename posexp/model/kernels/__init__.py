"""Kernels: exact ways to compute the attention that a scheme defines."""

from posexp.model.kernels.choice import KERNELS, IllegalKernelError, choose_kernel
from posexp.model.kernels.kernel import Kernel

__all__ = ["KERNELS", "IllegalKernelError", "Kernel", "choose_kernel"]
