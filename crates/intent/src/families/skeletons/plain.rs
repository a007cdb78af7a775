//! A family whose texts are written out.

use std::sync::OnceLock;

use crate::axis::Axis;
use crate::family::{Array, Dimension, Exactness, Family, Group, Variant};

/// Everything about a family, as it stands.
pub(crate) struct Plain {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    pub(crate) axes: Vec<Axis>,
    pub(crate) phrasings: &'static [&'static str],
    /// Name, size of a check, size of a timed launch.
    pub(crate) dimensions: &'static [(&'static str, i64, i64)],
    pub(crate) arrays: Vec<Array>,
    pub(crate) threads: &'static [&'static str],
    pub(crate) warp: &'static str,
    pub(crate) numpy: &'static str,
    pub(crate) torch: Option<&'static str>,
    pub(crate) cuda: &'static [Kernel],
    pub(crate) exactness: Exactness,
}

/// A kernel in CUDA C++, as it stands.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) technique: &'static str,
    pub(crate) grid: &'static [&'static str],
    pub(crate) block: &'static [i64],
    pub(crate) body: &'static str,
}

impl Plain {
    pub(crate) fn family(self) -> Family {
        let dimensions = self.dimensions.iter();
        let cuda = self.cuda.iter().map(|kernel| Variant {
            name: kernel.name,
            technique: kernel.technique,
            grid: kernel.grid,
            block: kernel.block,
            prelude: String::new(),
            body: kernel.body.to_owned(),
        });
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: dimensions
                .map(|(name, checked, timed)| Dimension::new(name, *checked, *timed))
                .collect(),
            arrays: self.arrays,
            threads: self.threads,
            warp: self.warp.to_owned(),
            warp_prelude: String::new(),
            numpy: self.numpy.to_owned(),
            torch: self.torch.map(str::to_owned),
            cuda: cuda.collect(),
            exactness: self.exactness,
            axes: self.axes,
            read: OnceLock::new(),
        }
    }
}
