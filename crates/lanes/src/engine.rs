//! Engines that are generic over lanes, behind a trait object.

use std::marker::PhantomData;

use crate::frames::{Blocks, FUSED};
use crate::instruction_set::InstructionSet;
use crate::portable::{Array, Scalar};
#[cfg(target_arch = "x86_64")]
use crate::x86::{Avx2F32, Avx512F32};

/// Lanes that this machine has: only [`EngineLanes::choose`] makes it, after detection.
#[doc(hidden)]
pub struct Chosen<V>(PhantomData<V>);

/// The lanes of an engine of this machine, for [`engine_for_this_machine`](crate::engine_for_this_machine).
#[doc(hidden)]
pub enum EngineLanes {
    #[cfg(target_arch = "x86_64")]
    Avx512(Chosen<Avx512F32>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Chosen<Avx2F32>),
    #[cfg(target_arch = "x86_64")]
    SingleFused(Chosen<Scalar<f32, true>>),
    Portable(Chosen<Array<8, FUSED>>),
    Single(Chosen<Scalar<f32, FUSED>>),
}

impl EngineLanes {
    /// The widest lanes of this machine, or one that computes the same bits.
    pub fn choose(blocks: Blocks) -> Self {
        match (InstructionSet::widest(), blocks) {
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Avx512(_), Blocks::Wide) => Self::Avx512(Chosen(PhantomData)),
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Avx2(_), Blocks::Wide) => Self::Avx2(Chosen(PhantomData)),
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Avx512(_) | InstructionSet::Avx2(_), Blocks::Single) => {
                Self::SingleFused(Chosen(PhantomData))
            }
            (_, Blocks::Wide) => Self::Portable(Chosen(PhantomData)),
            (_, Blocks::Single) => Self::Single(Chosen(PhantomData)),
        }
    }
}

/// Builds `Box<dyn Trait>` around `Engine<Lanes>` for the machine's widest lanes, or, with
/// [`Blocks::Single`], for one lane: the same bits at the latency of one frame.
#[macro_export]
macro_rules! engine_for_this_machine {
    ($blocks:expr, $engine:ident :: $new:ident ( $($argument:expr),* $(,)? )) => {{
        // The lanes have no name here: they follow from the choice.
        fn with<V: $crate::Lanes>(_: $crate::Chosen<V>, engine: $engine<V>) -> $engine<V> {
            engine
        }
        match $crate::EngineLanes::choose($blocks) {
            #[cfg(target_arch = "x86_64")]
            $crate::EngineLanes::Avx512(lanes) => Box::new(with(lanes, $engine::$new($($argument),*))) as Box<_>,
            #[cfg(target_arch = "x86_64")]
            $crate::EngineLanes::Avx2(lanes) => Box::new(with(lanes, $engine::$new($($argument),*))) as Box<_>,
            #[cfg(target_arch = "x86_64")]
            $crate::EngineLanes::SingleFused(lanes) => Box::new(with(lanes, $engine::$new($($argument),*))) as Box<_>,
            $crate::EngineLanes::Portable(lanes) => Box::new(with(lanes, $engine::$new($($argument),*))) as Box<_>,
            $crate::EngineLanes::Single(lanes) => Box::new(with(lanes, $engine::$new($($argument),*))) as Box<_>,
        }
    }};
}

/// Calls a method of something that is generic over lanes where the compiler may use their instructions, as
/// [`Lanes::vectorize`](crate::Lanes::vectorize) does:
/// `vectorize_method!(V: self => Engine::track_blocks(signal: &'a [f32], out: &'a mut [f32]));`. The method must be
/// `#[inline(always)]`; references that it takes live for `'a`.
#[macro_export]
macro_rules! vectorize_method {
    ($lanes:ident: $engine:expr => $type:ident::$method:ident($($argument:ident: $kind:ty),* $(,)?)) => {{
        struct Call<'a, $lanes: $crate::Lanes> {
            engine: &'a mut $type<$lanes>,
            $($argument: $kind,)*
        }
        impl<$lanes: $crate::Lanes> $crate::Task for Call<'_, $lanes> {
            #[inline(always)]
            fn run(self) {
                self.engine.$method($(self.$argument),*);
            }
        }
        <$lanes as $crate::Lanes>::vectorize(Call {
            engine: $engine,
            $($argument,)*
        });
    }};
}
