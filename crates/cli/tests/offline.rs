//! The command without a server: help, usage, explanations, completions, manual pages, configuration, colours.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use api::Code;
use common::{gpuaas, offline, ran};

#[test]
fn asked_nothing_it_helps_and_ends_as_a_usage_error() {
    let ran = offline(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("Usage: gpuaas"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn every_command_helps_with_examples() {
    let page = cli::reference::markdown();
    let names: Vec<&str> =
        page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(" gpuaas ")).collect();
    assert!(names.len() > 60, "only {} commands", names.len());
    for name in names {
        let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        let ran = offline(&words);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        assert!(ran.stdout.contains("Examples:\n"), "{name}:\n{}", ran.stdout);
        assert_eq!(ran.stderr, "", "{name}");
    }
}

#[test]
fn what_cannot_be_understood_is_a_usage_error_that_names_what_would_be() {
    for (words, hint) in [
        (vec!["tenent", "list"], "tenant"),
        (vec!["tenant", "lst"], "list"),
        (vec!["region", "list", "-o", "xml"], "json"),
        (
            vec!["launch", "Not A Slug", "--project", "p", "--sku", "s", "--gpus", "1", "--region", "r"],
            "lower-case letters",
        ),
        (vec!["launch", "a", "--project", "p", "--sku", "s", "--gpus", "0", "--region", "r"], "from 1 to 64"),
        (vec!["operation", "wait", "opn_short"], "opn_01jh2n6f4zw8q9r0s1t2v3x4y5"),
        (vec!["member", "create", "--tenant", "t", "--email", "a@b", "--role", "king"], "tenant_admin"),
        (vec!["operation", "wait", "opn_01jh2n6f4zw8q9r0s1t2v3x4y5", "--timeout", "soon"], "20m"),
        (vec!["verify", "--database", "/var/lib/gpuaas.db"], "sqlite:PATH"),
        (vec!["dev", "--listen", "0.0.0.0:0"], "--listen"),
    ] {
        let ran = offline(&words);
        assert_eq!(ran.code, 2, "{words:?}");
        assert!(ran.stderr.contains(hint), "{words:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{words:?}");
    }
}

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        let ran = offline(&["explain", code.as_str()]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{code}");
        assert_eq!(ran.stdout.trim_end(), code.page().trim_end(), "{code}");
    }
    let listed = offline(&["explain", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(value["items"].as_array().unwrap().len(), Code::ALL.len());
}

#[test]
fn an_unknown_code_gets_the_nearest_one() {
    for (word, nearest) in
        [("quota_exceded", "quota_exceeded"), ("notfound", "not_found"), ("tokenexpired", "token_expired")]
    {
        let ran = offline(&["explain", word]);
        assert_eq!(ran.code, 2, "{word}");
        assert!(ran.stderr.contains(&format!("Did you mean `{nearest}`?")), "{}", ran.stderr);
    }
}

#[test]
fn completions_come_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = offline(&["completion", shell]);
        assert_eq!(ran.code, 0, "{shell}");
        assert!(ran.stdout.contains("service-account"), "{shell}");
    }
    assert_eq!(offline(&["completion", "cmd"]).code, 2);
}

#[test]
fn manual_pages_come_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man1");
    let ran = offline(&["man", "--out", out.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for name in
        ["gpuaas.1", "gpuaas-tenant.1", "gpuaas-tenant-list.1", "gpuaas-launch.1", "gpuaas-service-account-create.1"]
    {
        let page = std::fs::read_to_string(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH"), "{name}");
    }
}

#[test]
fn the_version_is_data() {
    let ran = offline(&["version", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(offline(&["version"]).stdout, format!("gpuaas {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(offline(&["--version"]).stdout, format!("gpuaas {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn colour_follows_the_environment_and_the_flag() {
    let home = tempfile::tempdir().unwrap();
    let coloured = |words: &[&str], variables: &[(&str, &str)]| {
        let ran = ran(gpuaas(home.path()).args(words).envs(variables.iter().copied()).output().unwrap());
        ran.stdout.contains('\u{1b}') || ran.stderr.contains('\u{1b}')
    };
    // Output is a pipe here, so nothing is coloured unless it is forced.
    assert!(!coloured(&["explain"], &[]));
    assert!(!coloured(&["nonsense"], &[]));
    assert!(coloured(&["explain"], &[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]));
    assert!(coloured(&["explain", "--color", "always"], &[]));
    assert!(coloured(&["--color=always", "nonsense"], &[]));
    assert!(coloured(&["explain", "nope", "--color", "always"], &[]));
    assert!(!coloured(&["explain", "--color", "never"], &[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]));
    assert!(!coloured(&["--help", "--color", "never"], &[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]));
    assert!(!coloured(&["explain"], &[("NO_COLOR", "1"), ("TERM", "xterm")]));
    assert!(!coloured(&["explain"], &[("TERM", "dumb")]));
}

#[test]
fn a_command_that_needs_a_token_says_how_to_get_one() {
    let ran = offline(&["region", "list"]);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("gpuaas login"), "{}", ran.stderr);
}

#[test]
fn a_broken_configuration_names_the_file_and_does_not_stop_what_needs_none() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("config/gpuaas");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "profile = [").unwrap();
    let broken = ran(gpuaas(home.path()).args(["region", "list"]).output().unwrap());
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.contains("config.toml"), "{}", broken.stderr);
    assert_eq!(ran(gpuaas(home.path()).args(["explain", "internal"]).output().unwrap()).code, 0);
}

#[test]
fn profiles_are_saved_for_their_owner_only_and_shown_masked() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| ran(gpuaas(home.path()).args(words).output().unwrap());
    let token = "gpuaas_secret_0123456789";
    let saved = run(&["login", "--offline", "--url", "https://lab.example/", "--profile", "lab", "--token", token]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let path = run(&["config", "path"]).stdout;
    assert_eq!(path.trim_end(), home.path().join("config/gpuaas/config.toml").to_str().unwrap());
    assert_eq!(std::fs::metadata(path.trim_end()).unwrap().permissions().mode() & 0o777, 0o600);

    let shown = run(&["config", "show", "-o", "json"]);
    assert!(!shown.stdout.contains(token), "{}", shown.stdout);
    let value: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(value["in_use"]["url"], "https://lab.example");

    assert_eq!(run(&["config", "use", "nope"]).code, 2);
    assert_eq!(run(&["config", "remove", "lab"]).code, 2, "nobody is there to ask");
    assert_eq!(run(&["config", "remove", "lab", "--yes"]).code, 0);
    assert!(!std::fs::read_to_string(path.trim_end()).unwrap().contains(token));
}

#[test]
fn a_token_with_spaces_or_nothing_is_refused() {
    for token in ["two words", ""] {
        let ran = offline(&["login", "--offline", "--token", token]);
        assert_eq!(ran.code, 2, "{token:?}");
    }
}
