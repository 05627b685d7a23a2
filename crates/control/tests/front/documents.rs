//! What is committed is what the code says.

use std::path::PathBuf;

#[test]
fn the_metric_reference_is_committed_as_the_code_says() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let text = control::metrics::reference_markdown();
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == text, "metrics changed; run the test with UPDATE_GENERATED=1 and review the change");
}
