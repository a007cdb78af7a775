//! Machines, projects and binaries as files describe them, and what must be said about each.

mod binaries;
mod examples;
mod fixes;
mod machines;
mod project;
mod projects;
mod support;
