//! The kernels of `cuda/lennard_jones.cu`, with the promise that makes launching them safe.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, ptx};
use warpsmith_device::{CudaDevice, DeviceError, Kernel};

const PTX: &[u8] = ptx!("md/lennard_jones");
const VECTORS_IN: Parameter = Parameter::In(Element::F32);
const VECTORS: Parameter = Parameter::Out(Element::F32);
const WORDS_IN: Parameter = Parameter::In(Element::U32);
const WORDS: Parameter = Parameter::Out(Element::U32);
const NUMBER: Parameter = Parameter::Value(Element::F32);
const WORD: Parameter = Parameter::Value(Element::U32);

macro_rules! kernel_image {
    ($name:ident, $entry:literal, $parameters:expr) => {
        static $name: KernelImage =
            // SAFETY: `cuda/lennard_jones.cu` takes these parameters in this order; every index into
            // a buffer is compared with that buffer's length before it is used.
            unsafe { KernelImage::trusted("md/lennard_jones", $entry, &$parameters, PTX) };
    };
}
kernel_image!(
    DRIFT,
    "drift",
    [
        VECTORS, VECTORS, VECTORS, VECTORS_IN, VECTORS_IN, WORDS_IN, WORDS, NUMBER, NUMBER, NUMBER,
        WORD, NUMBER, NUMBER, WORD, WORD
    ]
);
kernel_image!(
    BIN,
    "bin",
    [
        VECTORS, WORDS, WORDS, WORDS, WORDS_IN, NUMBER, NUMBER, NUMBER, WORD, WORD, WORD
    ]
);
kernel_image!(SCAN, "scan", [WORDS, WORDS, WORDS]);
kernel_image!(
    PLACE,
    "place",
    [WORDS_IN, WORDS_IN, WORDS_IN, WORDS, WORDS_IN]
);
kernel_image!(
    ARRANGE,
    "arrange",
    [
        WORDS_IN, WORDS_IN, WORDS_IN, VECTORS_IN, VECTORS_IN, VECTORS_IN, WORDS_IN, VECTORS,
        VECTORS, VECTORS, WORDS, WORDS_IN
    ]
);
kernel_image!(
    LIST,
    "list",
    [
        VECTORS_IN, VECTORS_IN, VECTORS_IN, WORDS_IN, WORDS_IN, VECTORS, VECTORS, VECTORS, WORDS,
        VECTORS, WORDS, WORDS, WORDS, NUMBER, NUMBER, NUMBER, NUMBER, WORD, WORD, WORD, WORD, WORD
    ]
);
kernel_image!(
    FORCE,
    "force",
    [
        VECTORS_IN, WORDS_IN, WORDS_IN, VECTORS, VECTORS, VECTORS, WORDS, NUMBER, NUMBER, NUMBER,
        NUMBER, NUMBER, NUMBER, NUMBER, WORD, WORD, WORD
    ]
);
kernel_image!(
    TOTALS,
    "totals",
    [
        VECTORS_IN,
        VECTORS_IN,
        VECTORS_IN,
        Parameter::Out(Element::F64)
    ]
);

/// All of them, loaded.
pub(super) struct Kernels {
    pub(super) drift: Arc<Kernel>,
    pub(super) bin: Arc<Kernel>,
    pub(super) scan: Arc<Kernel>,
    pub(super) place: Arc<Kernel>,
    pub(super) arrange: Arc<Kernel>,
    pub(super) list: Arc<Kernel>,
    pub(super) force: Arc<Kernel>,
    pub(super) totals: Arc<Kernel>,
}

impl Kernels {
    pub(super) fn load(gpu: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self {
            drift: gpu.kernel(&DRIFT)?,
            bin: gpu.kernel(&BIN)?,
            scan: gpu.kernel(&SCAN)?,
            place: gpu.kernel(&PLACE)?,
            arrange: gpu.kernel(&ARRANGE)?,
            list: gpu.kernel(&LIST)?,
            force: gpu.kernel(&FORCE)?,
            totals: gpu.kernel(&TOTALS)?,
        })
    }
}
