//! A comparison as a Markdown table, for a pull request.

use warpsmith_core::Seconds;
use warpsmith_measure::statistics::order::median_of;

use super::command::Row;

/// A table with a line for the base of each row's group and one for each row.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| what | median | CPU time | ratio | interval | verdict | clock |\n\
         |:---|---:|---:|---:|---:|:---|:---|\n",
    );
    let time = |samples: &[f64]| match samples.is_empty() {
        true => "–".to_owned(),
        false => Seconds(median_of(samples)).to_string(),
    };
    let mut base = None;
    for row in rows {
        if base != Some(&row.a.name) {
            base = Some(&row.a.name);
            text.push_str(&format!(
                "| {} | {} | {} | 1 | | base | |\n",
                escaped(&row.a.name),
                time(&row.a.seconds),
                time(&row.a.cpu_seconds),
            ));
        }
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            escaped(&row.b.name),
            time(&row.b.seconds),
            time(&row.b.cpu_seconds),
            row.ratio(),
            row.interval(),
            row.verdict(),
            row.clock(),
        ));
    }
    text
}

/// A command line in a cell: as code, with what would end the cell or the code replaced.
fn escaped(name: &str) -> String {
    let inside = name.replace('|', "\\|").replace(['\n', '\r'], " ");
    match inside.contains('`') {
        true => format!("`` {inside} ``"),
        false => format!("`{inside}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_cell() {
        assert_eq!(escaped("a | b"), "`a \\| b`");
        assert_eq!(escaped("echo `date`\nx"), "`` echo `date` x ``");
    }
}
