//! Parameters that a machine can afford: defaults are chosen to fill a large GPU, and a CPU that has
//! to compute the same takes minutes.

use crate::parameters::{BadParameter, ParameterKind, Parameters};
use crate::workload::Workload;

/// `given`, and beside it whatever halvings of the other sizes bring the cost of one run (operations
/// and bytes together) down to `budget`. What the caller has given is never changed.
pub fn affordable_settings(
    workload: &dyn Workload,
    given: &[(String, String)],
    budget: f64,
) -> Result<Vec<(String, String)>, BadParameter> {
    let specs = workload.parameters();
    let mut settings = given.to_vec();
    // Each turn halves something, so that 64 of them would empty any 64-bit number.
    for _ in 0..64 {
        let parameters = Parameters::resolve(specs, &settings)?;
        let cost = workload.cost(&parameters);
        if cost.flops.0 as f64 + cost.bytes.0 as f64 <= budget {
            break;
        }
        let room = |name: &str, min: u64| parameters.integer(name) / min.max(1);
        let widest = specs
            .iter()
            .filter(|spec| given.iter().all(|(name, _)| name != spec.name))
            .filter_map(|spec| match spec.kind {
                ParameterKind::Integer { min, .. } => Some((room(spec.name, min), spec.name)),
                ParameterKind::Choice(_) => None,
            })
            .max()
            .filter(|(room, _)| *room >= 2);
        let Some((_, name)) = widest else { break };
        let half = (parameters.integer(name) / 2).to_string();
        match settings.iter_mut().find(|(set, _)| set == name) {
            Some((_, value)) => *value = half,
            None => settings.push((name.to_owned(), half)),
        }
    }
    Ok(settings)
}
