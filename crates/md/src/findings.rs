//! What trajectories lead to conclude: the `T…` findings and their stories.

use warpsmith_core::{CodeDoc, Finding, Severity};

use crate::error::MdError;

/// Every finding about a trajectory.
pub const CODES: &[CodeDoc] = &[
    CodeDoc {
        code: "T001",
        title: "two atoms overlap",
        explanation: "Every close pair is measured before the first step. At less \
                      than 0.5 σ the Lennard-Jones energy of the pair is above 16,000 ε: the first \
                      step would throw both atoms across the box.",
        fix: "remove one of the two, lower the density, or check that lengths are in σ and that the \
              box in the file is the one the coordinates were made for",
    },
    CodeDoc {
        code: "T002",
        title: "a coordinate or velocity is not a number",
        explanation: "Positions and velocities are looked at before the first step; NaN or an \
                      infinity spreads to every atom within a cut-off per step.",
        fix: "look at the atom that is named; the file was usually written by a run that blew up",
    },
    CodeDoc {
        code: "T003",
        title: "the simulation blew up",
        explanation: "An atom moved further than half the cut-off while the neighbour list was in \
                      use, or its position stopped being a number. Lists are remade after a tenth of \
                      that, so no thermal motion gets there.",
        fix: "a smaller time step (`--dt`), a start without close pairs, or a lower temperature; \
              restart from the last checkpoint",
    },
    CodeDoc {
        code: "T004",
        title: "the total energy drifts",
        explanation: "Without a thermostat the total energy is constant but for an oscillation that \
                      shrinks with the square of the time step. Its trend over the run, relative to \
                      its size, is above 1e-5 in f64 and 1e-4 in f32.",
        fix: "a smaller time step, `--precision f64`, or `--truncation force-shift`, whose force is \
              continuous at the cut-off",
    },
    CodeDoc {
        code: "T005",
        title: "the restart is not bit-identical",
        explanation: "The checkpoint was written with other instructions (or on another kind of \
                      device) than this run uses. Sums are taken in another order, so trajectories \
                      part after some thousand steps. Averages are not affected.",
        fix: "restart where the checkpoint was written, or accept another trajectory of the same \
              ensemble",
    },
];

/// What the user did or has, where an error is about that and not about us.
pub fn of_error(error: &MdError) -> Option<Finding> {
    let code = match error {
        MdError::Overlap { .. } => "T001",
        MdError::NotFinite { .. } => "T002",
        MdError::BlowUp { .. } => "T003",
        _ => return None,
    };
    Some(Finding::new(code, Severity::Error, error.to_string()).hint(fix_of(code)))
}

/// The trend of the total energy over a run without thermostat, relative to its size, where it is
/// above what `precision_limit` allows.
pub fn drift_finding(relative_drift: f64, precision_limit: f64) -> Option<Finding> {
    let drifts = relative_drift.is_nan() || relative_drift.abs() > precision_limit;
    drifts.then(|| {
        let message = format!("the total energy drifted by {relative_drift:.1e} of its size");
        Finding::new("T004", Severity::Warning, message)
            .because("limit for this precision", format!("{precision_limit:.0e}"))
            .hint(fix_of("T004"))
    })
}

/// The checkpoint was written by other arithmetic than continues it.
pub fn mixed_arithmetic(written: &str, running: &str) -> Option<Finding> {
    (written != running).then(|| {
        let message = "this run continues the checkpoint, but not bit for bit";
        Finding::new("T005", Severity::Warning, message)
            .because("written with", written)
            .because("running with", running)
            .hint(fix_of("T005"))
    })
}

fn fix_of(code: &str) -> &'static str {
    CODES
        .iter()
        .find(|doc| doc.code == code)
        .map_or("", |doc| doc.fix)
}
