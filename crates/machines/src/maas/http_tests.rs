//! Which addresses are refused, and that a refusal of the server gives nothing away.

use super::*;

fn settings(url: &str) -> Settings {
    Settings {
        url: url.to_owned(),
        key: "consumer-1:token-22222222:secret-33333333".parse().unwrap(),
        plain_http_allowed: false,
        extra_roots_pem: Vec::new(),
        limits: super::super::Limits::default(),
    }
}

fn connection(url: &str) -> Result<Connection, Fault> {
    Connection::new(&settings(url), Signing::new(|| model::Timestamp::from_micros(0), || "n".to_owned()))
}

#[test]
fn the_key_is_not_sent_in_the_open() {
    for good in
        ["https://maas.example/MAAS", "http://127.0.0.1:5240/MAAS/", "http://[::1]/MAAS", "http://localhost/MAAS"]
    {
        assert!(connection(good).is_ok(), "{good}");
    }
    for bad in [
        "http://maas.example/MAAS",
        "http://127.0.0.1.example/MAAS",
        "http://10.0.0.1:5240/MAAS",
        "http://localhost.example/MAAS",
        "ftp://127.0.0.1/",
        "https://user:secret-33333333@maas.example/",
        "https://maas.example/?key=secret-33333333",
        "maas",
    ] {
        let fault = connection(bad).unwrap_err();
        assert!(matches!(fault, Fault::Settings { what: "address", .. }), "{bad}: {fault}");
        assert!(!fault.to_string().contains("secret"), "{fault}");
    }
    let open = Settings { plain_http_allowed: true, ..settings("http://maas.example/MAAS") };
    assert!(Connection::new(&open, Signing::new(|| model::Timestamp::from_micros(0), String::new)).is_ok());
}

#[test]
fn an_address_keeps_its_place_and_its_last_slash() {
    for base in ["https://maas.example/MAAS", "https://maas.example/MAAS/"] {
        let request = Request::post(String::new(), &["machines", "abc"]).op("deploy").query("id", "a&b");
        let address = connection(base).unwrap().address(&request);
        assert_eq!(address.as_str(), "https://maas.example/MAAS/api/2.0/machines/abc/?op=deploy&id=a%26b");
    }
}

#[test]
fn certificates_that_are_none_are_refused() {
    let odd = Settings {
        extra_roots_pem: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
        ..settings("https://maas.example")
    };
    let fault = Connection::new(&odd, Signing::new(|| model::Timestamp::from_micros(0), String::new)).unwrap_err();
    assert!(matches!(fault, Fault::Settings { what: "extra certificates", .. }), "{fault}");
}

#[test]
fn nothing_that_was_sent_comes_back_in_a_refusal() {
    let connection = connection("https://maas.example").unwrap();
    let form = Form::new().secret(
        "user_data",
        b"#cloud-config\npassword: hunter2222\n",
        "I2Nsb3VkLWNvbmZpZwpwYXNzd29yZDogaHVudGVy",
    );
    let request = Request::post("deploying machine abc".to_owned(), &["machines"]).form(form);
    let said = "bad: secret-33333333 %26secret-33333333 token-22222222 user_data=I2Nsb3VkLWNvbmZpZwpwYXNzd29yZDo \
                'password: hunter2222'\r\nSee \u{1b}[1mlog";
    let fault = connection.refusal(&request, StatusCode::BAD_REQUEST, said.as_bytes());
    let text = format!("{fault} {fault:?}");
    for secret in ["33333333", "22222222", "I2Ns", "hunter", "\u{1b}", "\r"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("bad: (hidden)"), "{text}");
}

#[test]
fn a_long_refusal_is_cut() {
    let connection = connection("https://maas.example").unwrap();
    let request = Request::get("listing".to_owned(), &["machines"]);
    let fault = connection.refusal(&request, StatusCode::BAD_GATEWAY, "word ".repeat(1000).as_bytes());
    let Fault::Refused { detail, status: 502, .. } = &fault else { panic!("{fault}") };
    assert_eq!(detail.chars().count(), REFUSAL_SHOWN_MAX + 1);
    assert!(fault.may_try_again());
}
