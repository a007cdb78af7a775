//! What a compiled kernel costs, read from its machine code: an ELF file with a section of instructions
//! per kernel and a list of attributes that the driver loads it by.

use std::collections::BTreeMap;

/// Cost of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's symbol.
    pub name: String,
    /// Machine instructions, padding included.
    pub instructions: u64,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of stack per thread: local arrays and spilled registers.
    pub stack_bytes: u32,
    /// Bytes of shared memory per block, with the kilobyte that CUDA reserves from sm_80 on where there is
    /// any at all.
    pub shared_bytes: u64,
    /// Bytes of the constant bank that holds the parameters.
    pub constant_bytes: u64,
}

/// Bytes of one instruction on every architecture from Volta on.
const INSTRUCTION_BYTES: u64 = 16;
/// Attributes of the global list: symbol and number, both 32 bits.
const FRAME_SIZE: u8 = 0x11;
const REGISTER_COUNT: u8 = 0x2f;
/// An attribute whose value follows, as long as it says.
const SIZED_VALUE: u8 = 4;

/// Attributes of a kernel's own list: one parameter, 12 bytes.
const PARAMETER: u8 = 0x17;

/// The kernels of a cubin with their parameters; `None` where the file is not a 64-bit ELF whose sections
/// all lie inside it.
pub fn kernel_parameters(cubin: &[u8]) -> Option<Vec<KernelLayout>> {
    let sections = sections(cubin)?;
    let mut kernels = Vec::new();
    for section in &sections {
        let Some(name) = section.name.strip_prefix(".text.") else {
            continue;
        };
        let own = format!(".nv.info.{name}");
        // Functions that are called have code too, and no parameters in the constant bank.
        let Some(info) = sections.iter().find(|section| section.name == own) else {
            continue;
        };
        let mut parameters: Vec<(u16, ParameterPlace)> = values(info.data)
            .filter(|(attribute, value)| *attribute == PARAMETER && value.len() == 12)
            .filter_map(|(_, value)| {
                // Index, ordinal, offset; then alignment of what is pointed to, space, bank and size.
                let place = ParameterPlace {
                    offset: usize::from(u16_at(value, 6)?),
                    bytes: (u32_at(value, 8)? >> 18) as usize,
                };
                Some((u16_at(value, 4)?, place))
            })
            .collect();
        parameters.sort_unstable_by_key(|(ordinal, _)| *ordinal);
        kernels.push(KernelLayout {
            name: name.to_owned(),
            parameters: parameters.into_iter().map(|(_, place)| place).collect(),
        });
    }
    Some(kernels)
}

/// A kernel and where its parameters lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLayout {
    /// The kernel's symbol.
    pub name: String,
    /// The parameters, in their order.
    pub parameters: Vec<ParameterPlace>,
}

/// Where a parameter lies among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    /// Bytes from the first parameter's start.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
}

/// A section of the file.
struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: u32,
    data: &'a [u8],
    size: u64,
}

/// The kernels in a cubin, by name; `None` where the file is not a 64-bit ELF as NVRTC writes it.
pub fn kernel_resources(cubin: &[u8]) -> Option<Vec<KernelResources>> {
    let sections = sections(cubin)?;
    let mut kernels: BTreeMap<&str, KernelResources> = BTreeMap::new();
    for section in &sections {
        if let Some(kernel) = section.name.strip_prefix(".text.") {
            let entry = kernels.entry(kernel).or_default();
            kernel.clone_into(&mut entry.name);
            entry.instructions = section.size / INSTRUCTION_BYTES;
        }
    }
    for section in &sections {
        if let Some(kernel) = section.name.strip_prefix(".nv.shared.")
            && let Some(entry) = kernels.get_mut(kernel)
        {
            entry.shared_bytes = section.size;
        }
        if let Some(kernel) = section.name.strip_prefix(".nv.constant0.")
            && let Some(entry) = kernels.get_mut(kernel)
        {
            entry.constant_bytes = section.size;
        }
    }
    let symbols = symbol_names(&sections);
    for (attribute, symbol, value) in attributes(&sections) {
        let Some(entry) = symbols
            .get(symbol as usize)
            .and_then(|name| kernels.get_mut(name))
        else {
            continue;
        };
        match attribute {
            REGISTER_COUNT => entry.registers = value,
            FRAME_SIZE => entry.stack_bytes = value,
            _ => {}
        }
    }
    Some(kernels.into_values().collect())
}

/// The machine code of each kernel in a cubin; `None` where the file is not a 64-bit ELF.
pub fn kernel_code(cubin: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut code = Vec::new();
    for section in sections(cubin)? {
        if let Some(kernel) = section.name.strip_prefix(".text.") {
            code.push((kernel, section.data));
        }
    }
    Some(code)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

fn text_at(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// The section headers of a little-endian 64-bit ELF file.
fn sections(file: &[u8]) -> Option<Vec<Section<'_>>> {
    const HEADER_BYTES: usize = 64;
    const NO_BITS: u32 = 8;
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let table = usize::try_from(u64_at(file, 0x28)?).ok()?;
    let count = usize::from(u16_at(file, 0x3c)?);
    let names_index = usize::from(u16_at(file, 0x3e)?);
    let header = |index: usize| -> Option<(u32, u32, usize, u64, u32)> {
        let at = table.checked_add(index.checked_mul(HEADER_BYTES)?)?;
        Some((
            u32_at(file, at)?,
            u32_at(file, at.checked_add(4)?)?,
            usize::try_from(u64_at(file, at.checked_add(0x18)?)?).ok()?,
            u64_at(file, at.checked_add(0x20)?)?,
            u32_at(file, at.checked_add(0x28)?)?,
        ))
    };
    let content = |kind: u32, offset: usize, size: u64| -> Option<&[u8]> {
        if kind == NO_BITS {
            return Some(&[]);
        }
        file.get(offset..offset.checked_add(usize::try_from(size).ok()?)?)
    };
    let (_, kind, offset, size, _) = header(names_index)?;
    let names = content(kind, offset, size)?;
    (0..count)
        .map(|index| {
            let (name, kind, offset, size, link) = header(index)?;
            Some(Section {
                name: text_at(names, name as usize)?,
                kind,
                link,
                data: content(kind, offset, size)?,
                size,
            })
        })
        .collect()
}

/// The names of the symbols, in the order of their table.
fn symbol_names<'a>(sections: &[Section<'a>]) -> Vec<&'a str> {
    const SYMBOL_TABLE: u32 = 2;
    const SYMBOL_BYTES: usize = 24;
    let Some(table) = sections.iter().find(|section| section.kind == SYMBOL_TABLE) else {
        return Vec::new();
    };
    let names = sections
        .get(table.link as usize)
        .map_or(&[][..], |section| section.data);
    table
        .data
        .chunks_exact(SYMBOL_BYTES)
        .map(|symbol| {
            u32_at(symbol, 0)
                .and_then(|at| text_at(names, at as usize))
                .unwrap_or("")
        })
        .collect()
}

/// The attributes of the whole file that are a symbol and a number.
fn attributes(sections: &[Section<'_>]) -> Vec<(u8, u32, u32)> {
    let mut found = Vec::new();
    let Some(info) = sections.iter().find(|section| section.name == ".nv.info") else {
        return found;
    };
    for (attribute, value) in values(info.data) {
        if let (8, Some(symbol), Some(number)) = (value.len(), u32_at(value, 0), u32_at(value, 4)) {
            found.push((attribute, symbol, number));
        }
    }
    found
}

/// Every attribute of a list with its value, which is empty where another format keeps it in place of the
/// size.
fn values(list: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let [format, attribute, low, high, tail @ ..] = rest else {
            return None;
        };
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let size = if *format == SIZED_VALUE { size } else { 0 };
        let (value, after) = tail.split_at_checked(size)?;
        rest = after;
        Some((*attribute, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_machine_code_has_no_kernels() {
        assert_eq!(kernel_resources(b"// ptx"), None);
        assert_eq!(kernel_resources(&[]), None);
        let mut cut = vec![0_u8; 64];
        cut[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        cut[0x28] = 0xff;
        cut[0x3c] = 3;
        assert_eq!(kernel_resources(&cut), None);
    }

    #[test]
    fn attributes_are_read_across_formats() {
        let data = [
            3, 0x1b, 0xff, 0, // a value in place of the size
            4, 0x2f, 8, 0, 5, 0, 0, 0, 18, 0, 0, 0, // registers of symbol 5
            4, 0x11, 8, 0, 5, 0, 0, 0, 64, 0, 0, 0,
        ];
        let section = Section {
            name: ".nv.info",
            kind: 0,
            link: 0,
            data: &data,
            size: data.len() as u64,
        };
        assert_eq!(attributes(&[section]), [(0x2f, 5, 18), (0x11, 5, 64)]);
    }
}
