//! Machine code that was built ahead of time, so that the first load of a kernel needs no JIT.
//!
//! A cubin stands in for one PTX text on GPUs of the same major architecture and the same or a
//! later minor one. The hash of the PTX is part of its identity: a cubin of an older kernel is
//! never loaded in place of a newer one.

use std::sync::{OnceLock, PoisonError, RwLock};

use sha2::{Digest, Sha256};
use warpsmith_core::KernelImage;

/// Machine code of one module for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedCubin {
    /// `owner/stem` of the source.
    pub module: &'static str,
    /// SHA-256 of the PTX that it stands in for.
    pub ptx_sha256: [u8; 32],
    /// The architecture: 90 for `sm_90`.
    pub sm: u32,
    /// The ELF image.
    pub bytes: &'static [u8],
}

fn registry() -> &'static RwLock<Vec<EmbeddedCubin>> {
    static REGISTRY: OnceLock<RwLock<Vec<EmbeddedCubin>>> = OnceLock::new();
    REGISTRY.get_or_init(RwLock::default)
}

/// Makes machine code known that the program carries. Call it before the first kernel is loaded.
pub fn embed_cubins(cubins: &[EmbeddedCubin]) {
    registry()
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .extend_from_slice(cubins);
}

/// The best machine code for `image` on an `sm` GPU.
pub(super) fn find(image: &KernelImage, sm: u32) -> Option<EmbeddedCubin> {
    // Lets a user compare the two ways of loading.
    if image.elf().is_some() || std::env::var_os("WARPSMITH_NO_CUBINS").is_some() {
        return None;
    }
    let registry = registry().read().unwrap_or_else(PoisonError::into_inner);
    let candidates = registry.iter().filter(|cubin| {
        cubin.module == image.module() && cubin.sm / 10 == sm / 10 && cubin.sm <= sm
    });
    let best = candidates.max_by_key(|cubin| cubin.sm)?;
    let hash: [u8; 32] = Sha256::digest(image.ptx().as_bytes()).into();
    (best.ptx_sha256 == hash).then_some(*best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_older_minor_of_the_same_major_with_the_same_ptx_is_found() {
        let [module, entry, ptx] = ["test/cubin", "f", "ptx text"].map(str::to_owned);
        let ptx_sha256: [u8; 32] = Sha256::digest(&ptx).into();
        // SAFETY: never loaded.
        let image = unsafe { KernelImage::compiled(module, entry, Vec::new(), ptx) };
        let cubin = |sm| EmbeddedCubin {
            module: "test/cubin",
            ptx_sha256,
            sm,
            bytes: &[],
        };
        let stale = EmbeddedCubin {
            ptx_sha256: [0; 32],
            ..cubin(70)
        };
        embed_cubins(&[cubin(80), cubin(86), cubin(90), stale]);
        let found = |sm| find(&image, sm).map(|cubin| cubin.sm);
        assert_eq!(found(80), Some(80));
        assert_eq!(found(89), Some(86));
        assert_eq!(found(90), Some(90));
        assert_eq!(found(120), None, "another major");
        assert_eq!(found(70), None, "built from other PTX");
    }
}
