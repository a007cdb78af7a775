//! Networks that others have trained: the files of weights that their packages carry, and the arithmetic
//! that their layers have in common.

mod archive;
mod dense;
mod half;
mod pickle;
mod spectral_layer;
mod weights;

pub use dense::Dense;
pub use half::{half_bits, half_value};
pub use spectral_layer::{LayerShape, SpectralLayer};
pub use weights::Weights;
