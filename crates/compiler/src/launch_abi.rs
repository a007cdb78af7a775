//! The launch ABI (placeholder until the next commit).
