//! Words of all views: the same in each, and nothing forbidden in any.

use std::path::Path;

use warpsmith_report::{markdown, page, terminal};

use crate::fixtures;

/// What no view prints, whatever the numbers are.
const FORBIDDEN: [&str; 9] = [
    "NaN",
    ">inf",
    " inf ",
    "-0 %",
    "−0 %",
    "± 0.00 %",
    "± 0 %",
    "0.00 ps",
    "n<",
];

/// The page as a reader without a browser sees it.
fn words(html: &str) -> String {
    let body = html.split("<body>").nth(1).unwrap_or(html);
    let mut out = String::new();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = match rest.starts_with("<script") {
            true => rest.find("</script>").map(|at| at + 9),
            false => rest.find('>').map(|at| at + 1),
        };
        if !rest.starts_with("<wbr") {
            out.push('\n');
        }
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    let lines: Vec<&str> = out
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines
        .join("\n")
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
}

#[test]
fn the_first_screen_answers_what_machine_how_well_how_fast_and_what_next() {
    let html = page::html(&fixtures::named("healthy-gpu"));
    let screen = html.split("<nav class").next().unwrap_or("");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/first_screen.txt");
    let seen = words(screen) + "\n";
    if std::env::var_os("WARPSMITH_BLESS").is_some() {
        std::fs::write(&golden, &seen).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&golden).expect("the golden file");
    assert_eq!(seen, expected, "WARPSMITH_BLESS=1 accepts it");
}

#[test]
fn no_view_prints_what_is_not_a_number() {
    for (name, report) in fixtures::all() {
        let texts = [
            words(&page::html(&report)),
            markdown::text(&report),
            terminal::lines(&report, true, Path::new("report/report.html"), false),
        ];
        for text in &texts {
            for forbidden in FORBIDDEN {
                let place = text.find(forbidden);
                let around = place.map(|at| text[..at].lines().count());
                assert!(place.is_none(), "{name}: `{forbidden}` in line {around:?}");
            }
        }
    }
}

#[test]
fn hostile_text_stays_text_in_the_page() {
    let html = page::html(&fixtures::named("hostile"));
    assert!(!html.contains("<script>alert") && !html.contains("<img src=x"));
    assert_eq!(html.matches("<script").count(), 3, "ours alone");
    assert_eq!(
        html.matches("</title>").count(),
        1 + html.matches("<g><title>").count()
    );
    assert_eq!(html.matches("</style>").count(), 1);
    // Every attribute is closed by its own quote: no handler can appear.
    assert!(!html.contains("\" onerror") && !html.contains("\"><img"));
}

#[test]
fn pages_are_small_and_fetch_nothing() {
    for (name, report) in fixtures::all() {
        let html = page::html(&report);
        assert!(html.len() <= 2_000_000, "{name}: {} bytes", html.len());
        for request in [
            " src=\"http",
            "@import",
            "url(",
            "<link rel=\"stylesheet",
            "fetch(",
        ] {
            assert!(!html.contains(request), "{name}: {request}");
        }
        for handler in [" onclick=", " onload=", " onerror=\""] {
            assert!(!html.contains(handler), "{name}: {handler}");
        }
    }
}

#[test]
fn a_page_with_a_million_samples_stays_small() {
    let mut report = fixtures::named("healthy-gpu");
    let noise: Vec<f64> = (0..1_000_000_u64)
        .map(|n| (n.wrapping_mul(2_654_435_761) % 999_983) as f64 / 7.0)
        .collect();
    let many: Vec<serde_json::Value> = (0..60)
        .map(|_| serde_json::json!({"samples": noise[..20_000]}))
        .collect();
    report.body.raw = serde_json::json!({"all": many, "long": {"samples": noise}});
    assert!(page::html(&report).len() <= 2_000_000);
}

#[test]
fn markdown_says_the_same_and_keeps_its_tables_whole() {
    let report = fixtures::named("healthy-gpu");
    let text = markdown::text(&report);
    for chapter in &report.body.chapters {
        assert!(
            text.contains(&chapter.title) && text.contains(&chapter.answers[0]),
            "{}",
            chapter.id
        );
    }
    for action in &report.body.actions {
        assert!(text.contains(&action.command), "{}", action.command);
    }
    for (name, report) in fixtures::all() {
        let text = markdown::text(&report);
        let mut columns = 0;
        for line in text.lines().filter(|line| line.starts_with("| ")) {
            let bars = line.replace("\\|", "").matches('|').count();
            if line.starts_with("| ---") || line.starts_with("|---") {
                assert_eq!(bars, columns, "{name}: {line}");
            }
            columns = bars;
        }
    }
}

#[test]
fn the_terminal_has_ten_lines_of_eighty_columns() {
    for (name, report) in fixtures::all() {
        for utf8 in [true, false] {
            let text = terminal::lines(&report, utf8, Path::new("report/report.html"), false);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= 10, "{name}: {} lines", lines.len());
            for line in &lines {
                assert!(
                    line.chars().count() <= 80,
                    "{name}: {} columns: {line}",
                    line.chars().count()
                );
            }
            assert!(utf8 || text.is_ascii(), "{name}: {text}");
            assert!(
                lines
                    .last()
                    .is_some_and(|line| line.starts_with("report/report.html"))
            );
        }
    }
}

#[test]
fn the_terminal_reads_as_it_was_designed() {
    let healthy = terminal::lines(
        &fixtures::named("healthy-gpu"),
        true,
        Path::new("report/report.html"),
        false,
    );
    let expected = "\
! NVIDIA H200: fit to measure and at full speed; one fault to look into (Xid 31)
  memory 4.31 TB/s, 90 % of datasheet · FP32 65.2 Tflop/s, 97 % of 66.9
  launch 9.47 µs, 101 % · host to device 54.6 GB/s, 87 % · at rest 135 W, 19 %
✗ ship     72 of 100                    ✓ at rest  idle, 42 °C, no throttling
! machine  70 checks pass               ✓ fast     graphs 1.26 to 2.42×
✓ data     5,700 proven pairs/s
3 errors, 12 warnings, 6 notes; 9 things to do, the first:
  compute-sanitizer --tool memcheck ./program   Xid 31, twice
301 s of 600 s · nothing was left out
report/report.html   (--open shows it, --strict turns the 3 errors into exit 1)
";
    assert_eq!(healthy, expected);
    let busy = terminal::lines(
        &fixtures::named("busy-cpu"),
        false,
        Path::new("r.html"),
        true,
    );
    assert!(
        busy.starts_with("act  Intel Xeon, 2 cores: not fit to measure\n"),
        "{busy}"
    );
    assert!(busy.contains("memory: too few samples"), "{busy}");
    assert!(
        busy.contains("left out: the matrix of 7 workloads, the roofline (busy)"),
        "{busy}"
    );
    assert!(busy.ends_with("r.html   (--open shows it)\n"), "{busy}");
}
