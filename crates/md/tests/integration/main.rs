//! Trajectories against physics and other programs, and runs that were interrupted.

mod conservation;
mod restart;
