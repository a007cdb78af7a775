//! The families, one file for each kind of kernel. A family is one item of its file.

mod audio;
mod gathers;
mod geometry;
mod histograms;
mod images;
mod maps;
mod normalisations;
mod physics;
mod products;
mod random;
mod rearrangements;
mod reductions;
mod scans;
pub(crate) mod skeletons;
mod sorting;
mod sparse;
mod stencils;
mod vocabulary;

use crate::family::Family;

/// All families; a name is never reused, and new ones go where they belong.
pub(crate) fn all() -> Vec<Family> {
    [
        maps::families(),
        reductions::families(),
        scans::families(),
        stencils::families(),
        products::families(),
        normalisations::families(),
        physics::families(),
        geometry::families(),
        images::families(),
        audio::families(),
        gathers::families(),
        rearrangements::families(),
        histograms::families(),
        sorting::families(),
        sparse::families(),
        random::families(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
