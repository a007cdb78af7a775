//! Every finding code of the product: its table of contents.

use warpsmith_core::CodeDoc;

/// Tables of every crate that makes findings.
#[rustfmt::skip] // one to a line
pub(crate) const TABLES: &[&[CodeDoc]] = &[
    warpsmith_device::CODES,
    warpsmith_compiler::CODES,
    warpsmith_corpus::CODES,
    warpsmith_doctor::CODE_DOCS,
    warpsmith_md::CODES,
    warpsmith_measure::findings::CODES,
    warpsmith_server::CODES,
    warpsmith_synth::CODES,
    warpsmith_telemetry::baseline::CODES,
    warpsmith_telemetry::baseline::COMPARISON_CODES,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_one_conclusion() {
        let mut codes: Vec<_> = TABLES
            .iter()
            .copied()
            .flatten()
            .map(|doc| doc.code)
            .collect();
        codes.sort_unstable();
        let twice: Vec<_> = codes.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn every_code_has_a_story_and_a_mend() {
        for doc in TABLES.iter().copied().flatten() {
            let told = !doc.title.is_empty() && !doc.explanation.is_empty() && !doc.fix.is_empty();
            assert!(told, "{}", doc.code);
        }
    }
}
