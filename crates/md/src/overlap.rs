//! Whether two atoms are so close that their forces mean nothing.

use crate::error::{MdError, Result};
use crate::periodic_box::PeriodicBox;

/// At this distance a pair's energy is 16,128 ε: no start that was meant has one.
pub(crate) const CLOSEST: f64 = 0.5;

/// Looks at each atom's listed neighbours (indices times four) and names the closest pair where it
/// is too close.
pub(crate) fn check_overlap<'a>(
    cell: &PeriodicBox,
    identities: &[u32],
    position: impl Fn(usize) -> [f64; 3],
    neighbours: impl Iterator<Item = (usize, &'a [u32])>,
) -> Result<()> {
    let mut closest = (CLOSEST * CLOSEST, 0, 0);
    for (atom, others) in neighbours {
        let here = position(atom);
        for &entry in others {
            let other = entry as usize / 4;
            // What pads a list is no atom.
            if other >= identities.len() {
                continue;
            }
            let apart = cell.shortest_vector(here, position(other));
            let square = apart.iter().map(|x| x * x).sum::<f64>();
            if square < closest.0 {
                closest = (square, atom, other);
            }
        }
    }
    let (square, first, second) = closest;
    if first == second {
        return Ok(());
    }
    let (first, second) = (identities[first], identities[second]);
    Err(MdError::Overlap {
        first: first.min(second),
        second: first.max(second),
        distance: square.sqrt(),
        limit: CLOSEST,
    })
}
