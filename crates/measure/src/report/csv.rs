//! Samples as CSV, one line each, for any other program.

use std::fmt::Write;

use warpsmith_formats::csv::quoted;

use crate::measurement::Measurement;

/// The samples of several measurements under one heading.
pub fn samples(measurements: &[&Measurement]) -> String {
    let mut text = String::from("name,index,round,seconds,cpu_seconds,preempted,clock_mhz\n");
    for measurement in measurements {
        let mut round = 0;
        for (index, seconds) in measurement.seconds.iter().enumerate() {
            while measurement.round_starts.get(round + 1) == Some(&index) {
                round += 1;
            }
            let cpu = match measurement.cpu_seconds.get(index) {
                Some(cpu) => cpu.to_string(),
                None => String::new(),
            };
            let clock = match measurement.clock_mhz.get(index) {
                Some(clock) if *clock > 0.0 => clock.to_string(),
                _ => String::new(),
            };
            let preempted = measurement.preempted.binary_search(&index).is_ok();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{index},{round},{seconds},{cpu},{},{clock}",
                quoted(&measurement.name),
                u8::from(preempted)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Sample;

    #[test]
    fn names_with_commas_are_quoted_and_rounds_are_numbered() {
        let mut measurement = Measurement::imported("a,\"b\"", Vec::new());
        let sample = Sample::of_seconds(0.5);
        measurement.push(sample);
        measurement.begin_round();
        measurement.push(Sample {
            seconds: 0.25,
            preempted: true,
            ..sample
        });
        assert_eq!(
            samples(&[&measurement]),
            "name,index,round,seconds,cpu_seconds,preempted,clock_mhz\n\
             \"a,\"\"b\"\"\",0,0,0.5,,0,\n\"a,\"\"b\"\"\",1,1,0.25,,1,\n"
        );
    }
}
