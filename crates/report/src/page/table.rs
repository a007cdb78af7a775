//! Tables: sortable, copied as CSV with full values, rows that open, and columns that leave narrow
//! screens. On a phone a wide table is a list of blocks, a narrow one stays a table.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use crate::digits;
use crate::document::{Cell, Column, Detail, Place, Row, Table};

use super::cell::{self, Drawn};
use super::chart::scale_header;
use super::inline::{inline, length, plain};

/// Pixels of a letter and of the room beside a cell, in tables.
const LETTER: f64 = 7.2;
const GAP: f64 = 12.0;

/// How a column is set.
struct Look {
    drawn: Drawn,
    wraps: bool,
    classes: String,
}

/// `table` as markup with `id`, laid out for `width` pixels at a desk.
pub(super) fn table(table: &Table, id: &str, width: f64) -> String {
    let looks = looks(table, width);
    let stays = if stays(table, &looks) { " keep" } else { "" };
    let breaks = breaks(table, &looks, width);
    let mut out = format!(
        r#"<table class="t{stays}{breaks}" id="{id}"{}><thead><tr>"#,
        bar_text(table)
    );
    for (column, look) in table.columns.iter().zip(&looks) {
        out += &header(column, look, table.rows.len() > 1);
    }
    out.push_str("</tr></thead><tbody>");
    let shown = if table.shown == 0 {
        usize::MAX
    } else {
        table.shown
    };
    for (at, row) in table.rows.iter().enumerate() {
        let more = at >= shown;
        write_row(&mut out, table, row, &looks, &format!("{id}-{at}"), more);
    }
    out.push_str("</tbody></table>");
    out + &below(table, id, shown)
}

/// Room for the longest text beside a bar, so that the bars of a table begin on one line.
fn bar_text(table: &Table) -> String {
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let texts = cells.filter_map(|cell| match cell {
        Cell::Bar { text, .. } => Some(length(text)),
        _ => None,
    });
    match texts.max() {
        Some(letters) if letters <= 12 => format!(r#" style="--bar-text:{letters}ch""#),
        _ => String::new(),
    }
}

fn looks(table: &Table, width: f64) -> Vec<Look> {
    let cells = |at: usize| table.rows.iter().filter_map(move |row| row.cells.get(at));
    let measure = |at: usize, column: &Column| {
        let drawn = cells(at)
            .map(Drawn::of)
            .find(|d| *d != Drawn::No)
            .unwrap_or(Drawn::No);
        let letters = cells(at).map(cell::shown_length).max().unwrap_or(0);
        // A header may wrap, at its longest word.
        let head = column.name.split(' ').map(length).max().unwrap_or(0);
        let natural = letters.max(head) as f64 * LETTER + GAP + drawn.width();
        (drawn, letters, natural)
    };
    let measured: Vec<(Drawn, usize, f64)> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| measure(at, column))
        .collect();
    let mut wraps: Vec<bool> = measured
        .iter()
        .map(|(_, letters, _)| *letters > 44)
        .collect();
    let mut natural: f64 = measured
        .iter()
        .map(|(_, _, natural)| natural.min(44.0 * LETTER))
        .sum();
    // The longest columns wrap first, words before numbers, until the rest fits.
    let mut order: Vec<usize> = (0..measured.len())
        .filter(|at| measured[*at].1 > 10)
        .collect();
    order.sort_by_key(|at| {
        (
            table.columns[*at].number,
            std::cmp::Reverse(measured[*at].1),
        )
    });
    for at in order {
        if natural <= width {
            break;
        }
        wraps[at] = true;
        natural -= (measured[at].1 as f64 / 2.0) * LETTER;
    }
    let look = |((column, (drawn, ..)), wraps): ((&Column, &(Drawn, usize, f64)), bool)| {
        let place = match column.place {
            Place::Always => "",
            Place::Medium => "p4",
            Place::Wide => "p2",
        };
        let side = if column.number || *drawn != Drawn::No {
            ""
        } else {
            "L"
        };
        let wrap = if wraps { "wrapc" } else { "" };
        let classes = [side, drawn.class(), place, wrap];
        let classes: Vec<&str> = classes.into_iter().filter(|c| !c.is_empty()).collect();
        Look {
            drawn: *drawn,
            wraps,
            classes: classes.join(" "),
        }
    };
    table
        .columns
        .iter()
        .zip(&measured)
        .zip(wraps)
        .map(look)
        .collect()
}

/// Whether the table stays a table on the narrowest phone.
fn stays(table: &Table, looks: &[Look]) -> bool {
    let always = || {
        let columns = table.columns.iter().zip(looks).enumerate();
        columns.filter(|(_, (column, _))| column.place == Place::Always)
    };
    let words = always().map(|(at, (_, look))| {
        let picture = match look.drawn {
            Drawn::No => 0.0,
            Drawn::Bar | Drawn::Spark => 40.0,
            Drawn::Strip | Drawn::Dots => 120.0,
        };
        longest_word(table, at) as f64 * 6.7 + 4.0 + picture
    });
    let narrowest: f64 = words.sum();
    always().count() <= 5 && narrowest <= 290.0
}

/// Where words break: nowhere; the long ones on paper and on narrow screens (`tight`); at a desk too
/// (`dense`); or any word (`crammed`), because even the short ones are wider than the table's place.
fn breaks(table: &Table, looks: &[Look], width: f64) -> &'static str {
    let words = |most: usize| -> f64 {
        let columns = looks.iter().enumerate();
        let widths = columns.map(|(at, look)| {
            longest_word(table, at).min(most) as f64 * 6.0 + 6.0 + look.drawn.width() / 2.0
        });
        widths.sum()
    };
    // A desk's letters are larger than those that the widths above reckon with.
    let desk = width * 0.8;
    match () {
        () if words(cell::SHORT) > desk => " crammed",
        () if words(usize::MAX) > desk => " dense",
        () if words(usize::MAX) > 690.0 => " tight",
        () => "",
    }
}

/// Letters of a column's longest word.
fn longest_word(table: &Table, at: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
    let word = cells.map(cell::longest_word).max().unwrap_or(1);
    let name = table.columns.get(at).map_or("", |column| &column.name);
    let head = name.split([' ', '-']).map(length).max().unwrap_or(0);
    word.max(head.min(18))
}

fn header(column: &Column, look: &Look, sorts: bool) -> String {
    let classes = &look.classes;
    if column.name.is_empty() && column.scale.is_none() {
        return format!(r#"<td class="{classes}"></td>"#);
    }
    let middle = if look.drawn == Drawn::Dots {
        "1×"
    } else {
        "P50"
    };
    let name = inline(&column.name);
    let content = match (column.scale, look.drawn) {
        (Some(scale), Drawn::Strip | Drawn::Dots) => {
            format!(
                r#"<span class="vh">{name}</span>{}"#,
                scale_header(scale, middle)
            )
        }
        (_, Drawn::No | Drawn::Bar) if sorts => {
            format!(r#"<button type="button" data-sort>{name}</button>"#)
        }
        _ => name,
    };
    format!(r#"<th scope="col" class="{classes}">{content}</th>"#)
}

fn write_row(out: &mut String, table: &Table, row: &Row, looks: &[Look], id: &str, more: bool) {
    out.push_str(if more { r#"<tr class="more">"# } else { "<tr>" });
    for (at, (column, look)) in table.columns.iter().zip(looks).enumerate() {
        let empty = Cell::Empty;
        let cell = row.cells.get(at).unwrap_or(&empty);
        let mut content = cell::content(cell, column);
        let mut classes = look.classes.clone();
        if cell::shown_length(cell) > 16 || look.wraps {
            classes.push_str(" wide");
        }
        if cell::longest_word(cell) > cell::SHORT {
            classes.push_str(" long");
        }
        if at == 0 && row.detail.is_some() {
            content = format!(
                r#"<button type="button" class="rowb" aria-expanded="false" aria-controls="{id}">{content}</button>"#
            );
        }
        let values = cell::values(cell);
        // A picture is no header.
        if at == 0 && look.drawn == Drawn::No {
            let _ = write!(
                out,
                r#"<th scope="row" class="{classes}"{values}>{content}</th>"#
            );
        } else {
            let label = match column.name.is_empty() {
                true => String::new(),
                false => format!(r#" data-l="{}""#, escape(&column.name.replace('`', ""))),
            };
            let _ = write!(
                out,
                r#"<td class="{classes}"{values}{label}>{content}</td>"#
            );
        }
    }
    out.push_str("</tr>");
    if let Some(opened) = &row.detail {
        *out += &detail(opened, id, table.columns.len());
    }
}

fn detail(detail: &Detail, id: &str, columns: usize) -> String {
    let facts = detail.facts.iter().map(|(name, value)| {
        format!(
            "<div><dt>{}</dt> <dd>{}</dd></div>",
            plain(name),
            inline(value)
        )
    });
    let facts: String = facts.collect();
    let samples = detail.samples.as_ref().map_or(String::new(), |pointer| {
        format!(
            r#"<div data-samples="{}" data-scale="{:e}"></div>"#,
            escape(pointer),
            if detail.scale.is_finite() {
                detail.scale
            } else {
                1.0
            }
        )
    });
    let list = match facts.is_empty() {
        true => String::new(),
        false => format!(r#"<dl class="facts">{facts}</dl>"#),
    };
    format!(
        r#"<tr class="detail" id="{id}" hidden><td class="L" colspan="{columns}">{list}{samples}</td></tr>"#
    )
}

/// Buttons and caption.
fn below(table: &Table, id: &str, shown: usize) -> String {
    let mut out = String::new();
    let rows = digits::count(table.rows.len() as u64);
    if table.rows.len() > shown {
        let _ = write!(
            out,
            r#"<button type="button" class="btn" data-all="{id}" aria-controls="{id}" aria-expanded="false" data-less="show {shown}">show all {rows}</button>"#
        );
    }
    if !table.name.is_empty() {
        let _ = write!(
            out,
            r#"<button type="button" class="btn" data-csv="{id}" aria-label="copy {} as CSV">copy as CSV</button>"#,
            escape(&table.name)
        );
    }
    if !table.caption.is_empty() {
        let _ = write!(out, "<span>{}</span>", inline(&table.caption));
    }
    match out.is_empty() {
        true => out,
        false => format!(r#"<div class="foot">{out}</div>"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Strip, StripScale};

    fn small() -> Table {
        Table {
            name: "areas".to_owned(),
            columns: vec![Column::text("area"), Column::number("score")],
            rows: (0..4)
                .map(|n| {
                    Row::new(vec![
                        Cell::text(format!("area {n}")),
                        Cell::number(f64::from(n), "1", ""),
                    ])
                })
                .collect(),
            shown: 2,
            caption: "weights 8, 3, 1".to_owned(),
        }
    }

    #[test]
    fn a_small_table_stays_one_on_a_phone() {
        let markup = table(&small(), "t1", 600.0);
        assert!(markup.starts_with(r#"<table class="t keep" id="t1">"#));
        assert_eq!(markup.matches(r#"<tr class="more">"#).count(), 2);
        assert!(markup.contains("show all 4") && markup.contains("weights 8, 3, 1"));
        let mut wide = small();
        wide.columns = vec![Column::text("c"); 6];
        assert!(table(&wide, "t1", 600.0).starts_with(r#"<table class="t" id="t1">"#));
    }

    #[test]
    fn a_row_that_opens_controls_the_row_below_it() {
        let mut opening = small();
        opening.rows[1].detail = Some(Detail {
            facts: vec![("size".to_owned(), "<b>".to_owned())],
            samples: Some("/latency/0".to_owned()),
            scale: 1e-9,
        });
        let markup = table(&opening, "t7", 600.0);
        assert!(
            markup.contains(r#"aria-controls="t7-1""#) && markup.contains(r#"id="t7-1" hidden"#)
        );
        assert!(markup.contains("&lt;b&gt;") && markup.contains(r#"data-scale="1e-9""#));
    }

    #[test]
    fn a_missing_cell_is_a_dash_and_a_drawn_column_has_its_scale() {
        let drawn = Table {
            columns: vec![
                Column::text("w"),
                Column::text("spread").on(StripScale::Within(0.05)),
            ],
            rows: vec![
                Row::new(vec![Cell::text("a"), Cell::Strip(Strip::Rings(vec![1.0]))]),
                Row::new(vec![Cell::text("b")]),
            ],
            ..Table::default()
        };
        let markup = table(&drawn, "t1", 600.0);
        assert!(markup.contains(r#"<span class="vh">spread</span><svg"#));
        assert!(markup.contains(">–<") && !markup.contains("copy as CSV"));
    }
}
