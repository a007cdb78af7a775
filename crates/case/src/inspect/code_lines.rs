//! Instructions by line of the source: of machine code as nvdisasm prints it, else of PTX.

use std::collections::BTreeMap;

use serde::Serialize;

/// How many instructions of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mix {
    /// All of them.
    pub all: u32,
    /// Loads and stores of global memory.
    pub global: u32,
    /// Loads and stores of shared memory.
    pub shared: u32,
    /// Loads and stores of local memory: spilled registers and local arrays.
    pub local: u32,
    /// Atomic operations.
    pub atomic: u32,
    /// Floating-point arithmetic.
    pub float: u32,
    /// Special functions: exponentials, roots, reciprocals, sines.
    pub special: u32,
    /// Matrix units.
    pub tensor: u32,
    /// Whole-number arithmetic and addresses.
    pub integer: u32,
    /// Branches and barriers.
    pub control: u32,
}

impl Mix {
    fn count(&mut self, kind: Kind) {
        self.all += 1;
        *match kind {
            Kind::Global => &mut self.global,
            Kind::Shared => &mut self.shared,
            Kind::Local => &mut self.local,
            Kind::Atomic => &mut self.atomic,
            Kind::Float => &mut self.float,
            Kind::Special => &mut self.special,
            Kind::Tensor => &mut self.tensor,
            Kind::Integer => &mut self.integer,
            Kind::Control => &mut self.control,
            Kind::Other => return,
        } += 1;
    }
}

/// The instructions of one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeLine {
    /// The line, from 1.
    pub line: u32,
    /// Its instructions.
    #[serde(flatten)]
    pub mix: Mix,
}

#[derive(Clone, Copy)]
enum Kind {
    Global,
    Shared,
    Local,
    Atomic,
    Float,
    Special,
    Tensor,
    Integer,
    Control,
    Other,
}

fn lines(found: BTreeMap<u32, Mix>) -> Vec<CodeLine> {
    let pairs = found.into_iter();
    pairs.map(|(line, mix)| CodeLine { line, mix }).collect()
}

/// The text of one entry between its braces, with the numbers of the files that `.loc` means.
pub(super) fn body_of<'a>(ptx: &'a str, entry: &str) -> Option<&'a str> {
    let mut rest = ptx;
    loop {
        let at = rest.find(".entry")?;
        rest = rest[at + 6..].trim_start();
        if rest.starts_with(entry) && !rest[entry.len()..].starts_with(is_name) {
            let open = rest.find('{')?;
            let end = rest[open..]
                .find("\n}")
                .map_or(rest.len(), |end| open + end);
            return Some(&rest[open + 1..end]);
        }
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// Instructions of a PTX entry by line; lines of headers count under the line that called them, where the
/// compiler says so.
pub fn mix_of_ptx(ptx: &str, entry: &str) -> Vec<CodeLine> {
    let mut found: BTreeMap<u32, Mix> = BTreeMap::new();
    let Some(body) = body_of(ptx, entry) else {
        return Vec::new();
    };
    let own = own_file(body);
    let mut line = 0;
    for text in body.lines() {
        if let Some(place) = place(text, own) {
            line = place;
        } else if let Some((operation, _)) = instruction(text) {
            found.entry(line).or_default().count(kind_of_ptx(operation));
        }
    }
    lines(found)
}

/// The number of the file that an entry itself is in: that of its first `.loc`.
pub(super) fn own_file(body: &str) -> &str {
    let first = body
        .lines()
        .find_map(|text| text.trim().strip_prefix(".loc"));
    first
        .and_then(|words| words.split_whitespace().next())
        .unwrap_or("1")
}

/// The line of a `.loc` directive, if it or its caller is in the file `own`.
pub(super) fn place(text: &str, own: &str) -> Option<u32> {
    let mut words = text.trim().strip_prefix(".loc")?.split_whitespace();
    if words.next()? == own {
        return words.next()?.parse().ok();
    }
    // The line that called: `inlined_at 1 12 5`. A header that another header called has none here.
    let (_, at) = text.split_once("inlined_at")?;
    let mut words = at.split_whitespace();
    match words.next()? == own {
        true => words.next()?.parse().ok(),
        false => None,
    }
}

/// Operation and operands of a line of PTX, without its predicate.
pub(super) fn instruction(text: &str) -> Option<(&str, &str)> {
    let text = text.split("//").next()?.trim();
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace)?.1.trim_start(),
        None => text,
    };
    let text = text.strip_suffix(';')?;
    let (operation, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    operation
        .starts_with(|c: char| c.is_ascii_lowercase())
        .then_some((operation, operands.trim()))
}

fn kind_of_ptx(operation: &str) -> Kind {
    let mut parts = operation.split('.');
    let first = parts.next().unwrap_or_default();
    let has = |part: &str| operation.split('.').any(|one| one == part);
    let float = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]
        .iter()
        .any(|ty| has(ty));
    match first {
        "ld" | "st" | "ldu" | "cp" if has("shared") && !has("global") => Kind::Shared,
        "ld" | "st" | "ldu" if has("local") => Kind::Local,
        "ld" if has("param") || has("const") => Kind::Other,
        "ld" | "st" | "ldu" | "cp" | "tex" | "tld4" | "suld" | "sust" | "prefetch" => Kind::Global,
        "atom" | "red" => Kind::Atomic,
        "wmma" | "mma" | "wgmma" | "tcgen05" => Kind::Tensor,
        "ldmatrix" | "stmatrix" => Kind::Shared,
        "ex2" | "lg2" | "sin" | "cos" | "tanh" | "rsqrt" | "rcp" | "sqrt" => Kind::Special,
        "div" if float => Kind::Special,
        "bra" | "brx" | "bar" | "barrier" | "ret" | "exit" | "call" | "trap" => Kind::Control,
        "mov" | "cvt" | "cvta" | "setp" | "selp" | "shfl" | "vote" => Kind::Other,
        _ if float => Kind::Float,
        _ => Kind::Integer,
    }
}

/// Instructions of a kernel by line, from what `nvdisasm -g -c` prints.
pub fn mix_of_sass(text: &str, kernel: &str) -> Vec<CodeLine> {
    let mut found: BTreeMap<u32, Mix> = BTreeMap::new();
    let mut inside = false;
    let mut line = 0;
    for text in text.lines() {
        let trimmed = text.trim();
        if let Some(section) = trimmed.strip_prefix(".section") {
            let name = section.trim_start().split(',').next().unwrap_or_default();
            inside = name.strip_prefix(".text.") == Some(kernel);
        } else if !inside {
        } else if let Some(rest) = trimmed.strip_prefix("//## File ") {
            // `"a.h", line 3 inlined at "a.cu", line 12` is followed by a line for the caller: the last
            // one that is named counts.
            if let Some(number) = rest.rsplit("line ").next()
                && let Ok(number) = number
                    .split(|c: char| !c.is_ascii_digit())
                    .next()
                    .unwrap_or_default()
                    .parse()
            {
                line = number;
            }
        } else if let Some((_, rest)) = trimmed
            .strip_prefix("/*")
            .and_then(|at| at.split_once("*/"))
        {
            let mut words = rest.split_whitespace();
            let first = words.next().unwrap_or_default();
            let operation = match first.starts_with('@') {
                true => words.next().unwrap_or_default(),
                false => first,
            };
            if operation.starts_with(|c: char| c.is_ascii_uppercase()) {
                found
                    .entry(line)
                    .or_default()
                    .count(kind_of_sass(operation));
            }
        }
    }
    lines(found)
}

fn kind_of_sass(operation: &str) -> Kind {
    let first = operation.split(['.', ';']).next().unwrap_or_default();
    match first {
        "LDG" | "STG" | "LD" | "ST" | "LDGSTS" | "UBLKCP" | "UTMALDG" | "UTMASTG" | "TEX"
        | "TLD" | "TLD4" => Kind::Global,
        "LDS" | "STS" | "LDSM" | "STSM" => Kind::Shared,
        "LDL" | "STL" => Kind::Local,
        "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG" => Kind::Atomic,
        "HMMA" | "IMMA" | "DMMA" | "HGMMA" | "QGMMA" | "IGMMA" | "UTCHMMA" | "UTCQMMA" => {
            Kind::Tensor
        }
        "MUFU" => Kind::Special,
        "FADD" | "FMUL" | "FFMA" | "FMNMX" | "DADD" | "DMUL" | "DFMA" | "HADD2" | "HMUL2"
        | "HFMA2" | "FCHK" | "FADD32I" | "FFMA32I" | "FMUL32I" => Kind::Float,
        "BRA" | "BRX" | "EXIT" | "BAR" | "BSSY" | "BSYNC" | "WARPSYNC" | "CALL" | "RET"
        | "SYNCS" | "DEPBAR" => Kind::Control,
        "NOP" | "MOV" | "S2R" | "S2UR" | "LDC" | "ULDC" | "CS2R" | "SHFL" | "R2UR" | "UMOV"
        | "PRMT" | "SEL" | "FSEL" => Kind::Other,
        _ => Kind::Integer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry other(\n)\n{\n ret;\n}\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .f32 %f<9>;\n\
        \t.loc\t1 4 5\n\tld.param.u64 \t%rd1, [k_param_0];\n\tmov.u32 \t%r1, %tid.x;\n\t.loc\t1 7 9\n\
        \tld.global.f32 \t%f1, [%rd1]; // x\n\t@%p1 st.shared.f32 \t[%r2], %f1;\n\tfma.rn.f32 \t%f2, %f1, %f1, %f1;\n\
        \t.loc\t2 9 1, function_name $L__info_string0, inlined_at 1 8 3\n\tex2.approx.f32 \t%f3, %f2;\n\tbar.sync \t0;\n\tret;\n}\n";

    #[test]
    fn ptx_is_counted_by_line() {
        let found = mix_of_ptx(PTX, "k");
        let lines: Vec<u32> = found.iter().map(|line| line.line).collect();
        assert_eq!(lines, [4, 7, 8]);
        let seven = found[1].mix;
        assert_eq!(
            (seven.all, seven.global, seven.shared, seven.float),
            (3, 1, 1, 1)
        );
        let eight = found[2].mix;
        assert_eq!((eight.special, eight.control), (1, 2));
        assert!(mix_of_ptx(PTX, "missing").is_empty());
    }

    #[test]
    fn lines_of_headers_are_no_lines_of_the_file() {
        let ptx = ".visible .entry k(\n)\n{\n\t.loc\t3 4 5\n\tmov.u32 \t%r1, %tid.x;\n\t.loc\t2 900 1\n\tbar.sync \t0;\n\
            \t.loc\t1 669 1, function_name $L__info_string0, inlined_at 2 700 3\n\tbar.sync \t0;\n\
            \t.loc\t1 669 1, function_name $L__info_string0, inlined_at 3 9 3\n\tret;\n}\n";
        let found: Vec<(u32, u32)> = mix_of_ptx(ptx, "k")
            .iter()
            .map(|line| (line.line, line.mix.all))
            .collect();
        assert_eq!(found, [(4, 3), (9, 1)]);
    }

    #[test]
    fn machine_code_is_counted_by_line() {
        let text = "\t.section\t.text.other,\"ax\",@progbits\n        /*0000*/                   EXIT ;\n\
            \t.section\t.text.k,\"ax\",@progbits\n\t//## File \"/home/u/k.cu\", line 14\n\
            \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n\t//## File \"/home/u/k.cu\", line 15\n\
            \x20       /*0010*/               @P0 LDG.E.128 R4, [R2.64] ;\n        /*0020*/                   MUFU.EX2 R3, R3 ;\n\
            \x20       /*0030*/                   STL [R1], R3 ;\n";
        let found = mix_of_sass(text, "k");
        assert_eq!(found.len(), 2);
        let mix = found[1].mix;
        assert_eq!(
            (found[1].line, mix.all, mix.global, mix.special, mix.local),
            (15, 3, 1, 1, 1)
        );
    }
}
