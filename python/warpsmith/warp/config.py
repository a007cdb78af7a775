"""Settings that programs make. Only those below have a meaning here; the others are Warp's own."""

from __future__ import annotations

#: Whether launches can be differentiated; kernels may say so themselves.
enable_backward = True

# What these choose for Warp does not arise here: nothing is compiled by an external tool, printed or
# cached, and every index is checked.
quiet = False
verbose = False
verbose_warnings = False
log_level = 20
mode = "release"
verify_fp = False
verify_cuda = False
verify_autograd_array_access = False
print_launches = False
kernel_cache_dir = None
cache_kernels = True
lineinfo = False
max_unroll = 16
enable_graph_capture_module_load_by_default = True
enable_mempools_at_init = True
