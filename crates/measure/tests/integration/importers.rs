//! Files as the tools write them, read to exact fields.

use std::fs;
use std::path::Path;

use warpsmith_measure::import::{ImportError, read};

fn with_file(name: &str, text: &str, check: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    check(&path);
}

#[test]
fn hyperfine_times_are_seconds_by_command() {
    let text = r#"{"results":[{"command":"sleep 0.1","mean":0.101,"times":[0.101,0.102]},
                              {"command":"true","mean":0.001,"times":[0.001]}]}"#;
    with_file("h.json", text, |path| {
        let found = read(path).unwrap();
        assert_eq!(found[0].name, "sleep 0.1");
        assert_eq!(found[0].seconds, [0.101, 0.102]);
        assert_eq!(found[1].seconds, [0.001]);
    });
}

#[test]
fn google_benchmark_repetitions_are_gathered_and_aggregates_left_out() {
    let text = r#"{"context":{"date":"x"},"benchmarks":[
        {"name":"BM_a/8","run_name":"BM_a/8","run_type":"iteration","real_time":10.0,"time_unit":"us"},
        {"name":"BM_a/8","run_name":"BM_a/8","run_type":"iteration","real_time":12.0,"time_unit":"us"},
        {"name":"BM_a/8_mean","run_name":"BM_a/8","run_type":"aggregate","real_time":11.0,"time_unit":"us"}]}"#;
    with_file("g.json", text, |path| {
        let found = read(path).unwrap();
        assert_eq!(found.len(), 1);
        assert!((found[0].seconds[1] - 12e-6).abs() < 1e-18 && found[0].seconds.len() == 2);
    });
}

#[test]
fn criterion_samples_are_divided_by_their_iterations() {
    let text = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[1000.0,2200.0]}"#;
    with_file("fib/new/sample.json", text, |path| {
        let found = read(path).unwrap();
        assert_eq!(found[0].name, "fib");
        let (a, b) = (found[0].seconds[0], found[0].seconds[1]);
        assert!((a - 1e-7).abs() < 1e-18 && (b - 1.1e-7).abs() < 1e-18);
        fs::write(
            path.with_file_name("benchmark.json"),
            r#"{"full_id":"math/fib"}"#,
        )
        .unwrap();
        assert_eq!(read(path).unwrap()[0].name, "math/fib");
    });
}

#[test]
fn pytest_data_are_read_and_their_absence_is_explained() {
    let text = r#"{"machine_info":{},"benchmarks":[{"name":"t","fullname":"m.py::t","stats":{"mean":1.0,"data":[0.5,0.6]}}]}"#;
    with_file("p.json", text, |path| {
        assert_eq!(read(path).unwrap()[0].seconds, [0.5, 0.6]);
        fs::write(path, text.replace(",\"data\":[0.5,0.6]", "")).unwrap();
        let error = read(path).unwrap_err().to_string();
        assert!(error.contains("--benchmark-save-data"), "{error}");
    });
}

#[test]
fn nvbench_samples_come_from_the_binary_beside_the_json() {
    let text = r#"{"benchmarks":[{"name":"copy","states":[{"name":"Device=0 T=f32","summaries":[
        {"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","type":"float64","value":"1.5e-05"}]},
        {"tag":"nv/json/bin:nv/cold/sample_times","data":[
            {"name":"filename","type":"string","value":"out.json-bin/0.bin"},
            {"name":"size","type":"int64","value":"2"}]}]}]}]}"#;
    with_file("out.json", text, |path| {
        assert!(matches!(read(path), Err(ImportError::Read { .. })));
        let folder = path.parent().unwrap().join("out.json-bin");
        fs::create_dir(&folder).unwrap();
        let bytes: Vec<u8> = [1.5e-5f32, 1.6e-5]
            .iter()
            .flat_map(|s| s.to_le_bytes())
            .collect();
        fs::write(folder.join("0.bin"), &bytes).unwrap();
        let found = read(path).unwrap();
        assert_eq!(found[0].name, "copy Device=0 T=f32");
        assert_eq!(
            found[0].seconds,
            [f64::from(1.5e-5f32), f64::from(1.6e-5f32)]
        );
        fs::write(folder.join("0.bin"), &bytes[..7]).unwrap();
        assert!(matches!(read(path), Err(ImportError::Malformed { .. })));
    });
}

#[test]
fn what_is_not_samples_is_refused_with_a_reason() {
    with_file("x.json", "{\"a\": 1}", |path| {
        assert!(matches!(read(path), Err(ImportError::UnknownFormat { .. })));
    });
    with_file("x.json", "not json", |path| {
        assert!(matches!(read(path), Err(ImportError::Json { .. })));
    });
    with_file(
        "x.json",
        r#"{"results":[{"command":"x","times":[-1.0]}]}"#,
        |path| {
            assert!(matches!(read(path), Err(ImportError::Malformed { .. })));
        },
    );
    assert!(matches!(
        read(Path::new("/no/such/file")),
        Err(ImportError::Read { .. })
    ));
}
