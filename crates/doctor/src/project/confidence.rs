//! How sure an audit's findings are. A rule that knows more says so itself.

use warpsmith_core::{Certainty, Finding, Severity};

/// Rules whose finding follows from one text as it stands: nothing outside of it could excuse it.
/// Those that give errors are not here: `proof` says of each place what is certain about it.
const CERTAIN: [&str; 14] = [
    "BLD010", "BLD014", "CIA003", "CIA005", "CIA009", "CIA012", "DEP009", "DKR001", "DKR003",
    "DKR008", "DKR014", "DOC006", "SRC010", "SRC014",
];

/// Gives a finding its confidence, where its rule said nothing.
pub(super) fn fill(finding: Finding) -> Finding {
    if finding.confidence.is_some() {
        return finding;
    }
    let certain = CERTAIN.contains(&finding.code.as_str());
    let (certainty, why) = match (finding.severity, certain) {
        (Severity::Info, false) => (Certainty::Hint, "often harmless: read the place"),
        (_, true) => (Certainty::Certain, "it follows from the text as it stands"),
        _ => (
            Certainty::Likely,
            "read from the text; what runs was not observed",
        ),
    };
    finding.sure(certainty, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::rule_info;

    #[test]
    fn every_certain_rule_exists_and_what_a_rule_says_stays() {
        assert!(CERTAIN.iter().all(|code| rule_info(code).is_some()));
        let own = Finding::new("SRC001", Severity::Info, "m").sure(Certainty::Likely, "own");
        assert_eq!(fill(own.clone()), own);
        let hint = fill(Finding::new("SRC001", Severity::Info, "m"));
        assert_eq!(hint.confidence.unwrap().certainty, Certainty::Hint);
    }
}
