//! Warp-style Python kernels: the runtime header that their emitted text needs, and the launch ABI.
pub mod launch_abi;
pub mod runtime_header;
