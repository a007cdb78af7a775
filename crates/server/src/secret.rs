//! Numbers that nobody can guess, from the system.

/// 64 random bits; falls back to the hasher's randomness where the system call is missing.
fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the call writes at most the eight bytes of `bytes`, which is that long.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(got) == Ok(bytes.len()) {
        return u64::from_ne_bytes(bytes);
    }
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// A key that goes with a stream.
pub(crate) fn key() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// A seed that a browser's numbers can hold.
pub(crate) fn seed() -> u64 {
    random() >> 16
}
