//! A GPU kernel as data: its name, its parameters, its PTX, and the promise that makes launching
//! it safe.
//!
//! The promise is made once, where the kernel is written: every buffer parameter is a pointer
//! followed by its length in elements (`unsigned long long`), and every access through it is
//! guarded by that length. The launcher passes buffers in that form and checks each argument
//! against `parameters`, so a launch needs no `unsafe` of its own.

use std::borrow::Cow;
use std::sync::Arc;

use miniz_oxide::inflate::decompress_to_vec_zlib;
pub use warpsmith_kernel_macro::{kernel, ptx};

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are Rust's own.
pub enum Element {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

/// One parameter of a kernel as the caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// A buffer that the kernel only reads: `const T*, unsigned long long`.
    In(Element),
    /// A buffer that the kernel may write: `T*, unsigned long long`.
    Out(Element),
    /// A scalar by value.
    Value(Element),
    /// A matrix that the kernel reads by tiles of this many rows and columns: `const
    /// __grid_constant__ CUtensorMap`, on GPUs from Hopper on.
    Tiled(Element, [u32; 2]),
}

/// A kernel that can be loaded on any GPU from Volta on.
#[derive(Clone, Debug)]
pub struct KernelImage {
    module: Cow<'static, str>,
    entry: Cow<'static, str>,
    parameters: Cow<'static, [Parameter]>,
    code: Code,
}

/// A kernel's code as the program has it.
#[derive(Clone, Debug)]
enum Code {
    Ptx(String),
    /// PTX by [`kernel!`] or [`ptx!`].
    Packed(&'static [u8]),
    /// An ELF image for one architecture.
    Machine(Arc<[u8]>),
}

impl KernelImage {
    /// Describes the function `entry` in the PTX that [`ptx!`] embedded.
    ///
    /// `module` names the source file as `owner/stem` (for example `machine/saxpy`); prebuilt
    /// machine code is looked up under that name.
    ///
    /// # Safety
    /// `entry` in `ptx` takes exactly `parameters` in this order, with each buffer as a pointer
    /// followed by its length in elements, and keeps every access to a buffer below that length,
    /// for every grid and block shape.
    pub const unsafe fn trusted(
        module: &'static str,
        entry: &'static str,
        parameters: &'static [Parameter],
        ptx: &'static [u8],
    ) -> Self {
        Self {
            module: Cow::Borrowed(module),
            entry: Cow::Borrowed(entry),
            parameters: Cow::Borrowed(parameters),
            code: Code::Packed(ptx),
        }
    }

    /// Describes a function in PTX that was compiled at run time.
    ///
    /// # Safety
    /// As for [`KernelImage::trusted`].
    pub unsafe fn compiled(
        module: String,
        entry: String,
        parameters: Vec<Parameter>,
        ptx: String,
    ) -> Self {
        Self {
            module: Cow::Owned(module),
            entry: Cow::Owned(entry),
            parameters: Cow::Owned(parameters),
            code: Code::Ptx(ptx),
        }
    }

    /// Describes a function in machine code: a whole ELF image for one architecture.
    ///
    /// # Safety
    /// As for [`KernelImage::trusted`]; and the sections of `image` lie inside it, because a driver reads
    /// it without being told its length.
    pub unsafe fn machine_code(
        module: String,
        entry: String,
        parameters: Vec<Parameter>,
        image: Vec<u8>,
    ) -> Self {
        Self {
            module: Cow::Owned(module),
            entry: Cow::Owned(entry),
            parameters: Cow::Owned(parameters),
            code: Code::Machine(image.into()),
        }
    }

    /// `owner/stem` of the source file.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The function's name in the PTX.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The parameters, each buffer counted once.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The portable form, from which a driver makes machine code; empty where there is machine code alone.
    pub fn ptx(&self) -> Cow<'_, str> {
        match &self.code {
            Code::Ptx(text) => Cow::Borrowed(text),
            Code::Packed(bytes) => {
                // What cannot be unpacked is no PTX either, which the driver then says of the kernel.
                let text = decompress_to_vec_zlib(bytes).unwrap_or_default();
                Cow::Owned(String::from_utf8(text).unwrap_or_default())
            }
            Code::Machine(_) => Cow::Borrowed(""),
        }
    }

    /// The ELF image, where it is machine code.
    pub fn elf(&self) -> Option<&[u8]> {
        match &self.code {
            Code::Machine(image) => Some(image),
            Code::Ptx(_) | Code::Packed(_) => None,
        }
    }

    /// What tells its code from another's, without unpacking it.
    pub fn identity(&self) -> &[u8] {
        match &self.code {
            Code::Ptx(text) => text.as_bytes(),
            Code::Packed(bytes) => bytes,
            Code::Machine(image) => image,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_says_what_the_kernel_takes_and_its_ptx_comes_back_as_it_was() {
        // SAFETY: never launched.
        let image = unsafe { kernel!("machine/saxpy", saxpy(in f32, out f32, u64, f32)) };
        assert_eq!((image.module(), image.entry()), ("machine/saxpy", "saxpy"));
        assert_eq!(
            image.parameters(),
            [
                Parameter::In(Element::F32),
                Parameter::Out(Element::F32),
                Parameter::Value(Element::U64),
                Parameter::Value(Element::F32),
            ]
        );
        assert_eq!(
            image.ptx(),
            include_str!("../../../kernels/machine/saxpy.ptx")
        );
        assert!(image.identity().len() < image.ptx().len());
    }
}
