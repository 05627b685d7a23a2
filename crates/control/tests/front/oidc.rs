//! Signing in through a real identity provider: a process of its own that the test starts, driven like a browser would, with
//! plain HTTP and two jars of cookies. The platform calls itself `https://gpuaas.example`, as it would behind a proxy; the
//! test carries requests to it.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
};

use control::{
    Ports,
    front_door::{FrontDoor, FrontDoorConfig},
    http::{EventFeed, HttpServer, Parts, start},
    metrics::Metrics,
    plane::Poke,
    sign_in::{Oidc, OidcSettings, Rules, SignIn, Site},
};
use serde_json::{Value, json};

use crate::{sockets::config, world::World};

const SITE: &str = "https://gpuaas.example";
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/oidc-provider/server.mjs");

/// The identity provider's process; it ends with the test.
struct Provider {
    process: Child,
    // Kept open: a process that cannot say what it wants to say may end.
    _says: BufReader<ChildStdout>,
    issuer: String,
}

impl Provider {
    fn start() -> Self {
        let mut process = Command::new("node")
            .args([SERVER, &format!("{SITE}/auth/callback")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node; scripts/install-test-tools installs it");
        let mut issuer = String::new();
        let mut says = BufReader::new(process.stdout.take().unwrap());
        says.read_line(&mut issuer).unwrap();
        assert!(issuer.starts_with("http://"), "the provider did not start; scripts/install-test-tools installs it");
        Self { process, _says: says, issuer: issuer.trim().to_owned() }
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    async fn account(&self, name: &str, claims: Value) {
        let url = format!("{}/test/accounts/{name}", self.issuer);
        assert!(http().put(url).body(claims.to_string()).send().await.unwrap().status().is_success());
    }

    async fn rotate(&self) {
        assert!(http().post(format!("{}/test/rotate", self.issuer)).send().await.unwrap().status().is_success());
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}

fn rules() -> Rules {
    serde_json::from_value(json!({"rules": [
        {"group": "gpu-operators", "operator": "platform_operator"},
        {"group": "acme-admins", "tenant": "acme", "role": "tenant_admin"},
        {"group": "acme-research", "tenant": "acme", "project": "research", "role": "project_member"},
        {"group": "elsewhere", "tenant": "not-there", "role": "viewer"}
    ]}))
    .unwrap()
}

/// The platform, with an identity provider.
struct Platform {
    world: World,
    door: FrontDoor,
    server: HttpServer,
}

async fn platform(issuer: &str) -> Platform {
    let world = World::new();
    let site = Site::at(SITE).unwrap();
    let settings = OidcSettings {
        issuer: issuer.to_owned(),
        client_id: "gpuaas".to_owned(),
        client_secret: Some("a secret: with/odd+characters".to_owned()),
        name: "Example Id".to_owned(),
        rules: rules(),
    };
    let oidc = Some(Arc::new(Oidc::new(settings, &site).unwrap()));
    let front = FrontDoorConfig { sign_in: SignIn { site, oidc }, ..FrontDoorConfig::default() };
    // The provider lives in the present, and so must whoever reads its tokens.
    let door = FrontDoor::new(Ports::system(), front).unwrap();
    let parts = Parts {
        door: door.clone(),
        db: world.db.clone(),
        metrics: Metrics::new(),
        poke: Poke::default(),
        feed: EventFeed::default(),
    };
    let server = start(config(), parts).await.unwrap();
    Platform { world, door, server }
}

/// A browser: follows redirects and keeps cookies, the platform's and the provider's apart.
#[derive(Default)]
struct Browser {
    ours: BTreeMap<String, String>,
    theirs: BTreeMap<String, String>,
}

/// What came back, with what a test looks at.
#[derive(Debug)]
struct Page {
    status: u16,
    location: Option<String>,
    body: String,
}

impl Page {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
    fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Browser {
    async fn ask(jar: &mut BTreeMap<String, String>, request: reqwest::RequestBuilder) -> Page {
        let cookies: Vec<String> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = request.header("cookie", cookies.join("; ")).send().await.unwrap();
        for cookie in answer.headers().get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            match rest.split(';').next().unwrap() {
                "" => drop(jar.remove(name)),
                value => drop(jar.insert(name.to_owned(), value.to_owned())),
            }
        }
        let location = answer.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        Page { status: answer.status().as_u16(), location, body: answer.text().await.unwrap() }
    }

    async fn ours(&mut self, at: SocketAddr, method: &str, path: &str, body: Option<Value>) -> Page {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = http().request(method, format!("http://{at}{path}"));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").header("origin", SITE).body(body.to_string());
        }
        Self::ask(&mut self.ours, request).await
    }

    /// Begins to sign in; where the provider is to be asked.
    async fn begin(&mut self, at: SocketAddr, return_to: &str) -> String {
        let page = self.ours(at, "POST", "/api/v1/session/oidc", Some(json!({"return_to": return_to}))).await;
        assert_eq!(page.status, 200, "{}", page.body);
        page.json()["authorization_url"].as_str().unwrap().to_owned()
    }

    /// Goes through the provider's pages as somebody, until it sends the browser back to us.
    async fn through(&mut self, issuer: &str, url: String, account: &str) -> String {
        let mut url = url;
        for _ in 0..20 {
            if let Some(back) = url.strip_prefix(SITE) {
                return back.to_owned();
            }
            let address = if url.starts_with('/') { format!("{issuer}{url}") } else { url.clone() };
            let mut page = Self::ask(&mut self.theirs, http().get(&address)).await;
            if page.location.is_none() {
                let prompt = if page.body.contains("value=\"login\"") { "login" } else { "consent" };
                let form = format!("prompt={prompt}&login={account}&password=x");
                let kind = "application/x-www-form-urlencoded";
                let post = http().post(&address).header("content-type", kind).body(form);
                page = Self::ask(&mut self.theirs, post).await;
            }
            url = page.location.unwrap_or_else(|| panic!("{address} leads nowhere: {} {}", page.status, page.body));
        }
        panic!("the provider's pages do not end");
    }

    /// Signs in as somebody; the last answer of ours.
    async fn sign_in(&mut self, platform: &Platform, provider: &Provider, account: &str) -> Page {
        let at = platform.server.address();
        let url = self.begin(at, "/nodes?tab=all").await;
        let back = self.through(&provider.issuer, url, account).await;
        self.ours(at, "GET", &back, None).await
    }

    async fn session(&mut self, platform: &Platform) -> Value {
        self.ours(platform.server.address(), "GET", "/api/v1/session", None).await.json()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_give_roles_and_take_them_back() {
    let provider = Provider::start();
    let platform = platform(&provider.issuer).await;
    let at = platform.server.address();
    let ways = Browser::default().ours(at, "GET", "/api/v1/sign-in", None).await;
    assert_eq!(ways.json(), json!({"token": true, "oidc": {"name": "Example Id"}}));

    let olga = json!({"email": "Olga@Platform.example", "email_verified": true, "groups": ["gpu-operators", "staff"]});
    provider.account("olga", olga).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&platform, &provider, "olga").await;
    assert_eq!((page.status, page.location.as_deref()), (303, Some("/nodes?tab=all")), "{}", page.body);
    assert!(browser.ours.contains_key("gpuaas_session") && !browser.ours.contains_key("gpuaas_sign_in"));
    let session = browser.session(&platform).await;
    assert_eq!(session["who"]["principal"]["name"], "olga@platform.example");
    assert_eq!(session["who"]["principal"]["platform_role"], "platform_operator");
    assert_eq!(session["who"]["token"]["name"], "Signed in through Example Id");
    let nodes = browser.ours(at, "GET", "/api/v1/admin/nodes", None).await;
    assert_eq!(nodes.status, 200, "{}", nodes.body);

    let rita = |groups: Value| json!({"email": "rita@acme.example", "email_verified": true, "groups": groups});
    provider.account("rita", rita(json!(["acme-research", "elsewhere"]))).await;
    let mut browser = Browser::default();
    assert_eq!(browser.sign_in(&platform, &provider, "rita").await.status, 303);
    let first = browser.session(&platform).await;
    let binding = |role: &str| json!([{"role": role, "tenant_id": platform.world.acme.tenant, "project_id": platform.world.acme.project}]);
    assert_eq!(first["who"]["bindings"], binding("project_member"));
    assert_eq!(first["who"]["principal"].get("platform_role"), None);

    // Another group: another role. The same person, and the session of before has the new role too.
    provider.account("rita", rita(json!(["acme-admins"]))).await;
    let mut again = Browser::default();
    assert_eq!(again.sign_in(&platform, &provider, "rita").await.status, 303);
    let second = again.session(&platform).await;
    assert_eq!(second["who"]["principal"]["id"], first["who"]["principal"]["id"]);
    assert_eq!(second["who"]["bindings"], json!([{"role": "tenant_admin", "tenant_id": platform.world.acme.tenant}]));
    assert_eq!(browser.session(&platform).await["who"]["bindings"], second["who"]["bindings"]);

    // No group any more: outside, and what was open is empty.
    provider.account("rita", rita(json!([]))).await;
    let refused = Browser::default().sign_in(&platform, &provider, "rita").await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "sign_in_refused"), "{}", refused.body);
    assert_eq!(browser.session(&platform).await["who"]["bindings"], json!([]));
    platform.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_role_stays_outside_and_who_was_made_a_member_comes_in() {
    let provider = Provider::start();
    let platform = platform(&provider.issuer).await;
    let at = platform.server.address();
    provider.account("nobody", json!({"email": "no@one.example", "email_verified": true, "groups": ["others"]})).await;
    let mut browser = Browser::default();
    let refused = browser.sign_in(&platform, &provider, "nobody").await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "sign_in_refused"));
    assert!(!browser.ours.contains_key("gpuaas_session"));
    // A browser is told on a page.
    let url = browser.begin(at, "/").await;
    let back = browser.through(&provider.issuer, url, "nobody").await;
    let request = http().get(format!("http://{at}{back}")).header("accept", "text/html");
    let page = Browser::ask(&mut browser.ours, request).await;
    assert!(page.status == 403 && page.body.contains("none of your groups has a role here"), "{}", page.body);

    // A member by address, made before the first sign-in, without any group.
    let members = format!("/api/v1/tenants/{}/members", platform.world.acme.tenant);
    let wish = json!({"subject": {"email": "mia@acme.example"}, "role": "viewer"});
    assert_eq!(platform.world.post(&platform.world.operator, &members, wish).status, 201);
    provider.account("mia", json!({"email": "mia@acme.example", "email_verified": true, "groups": []})).await;
    let mut browser = Browser::default();
    assert_eq!(browser.sign_in(&platform, &provider, "mia").await.status, 303);
    assert_eq!(browser.session(&platform).await["who"]["bindings"][0]["role"], "viewer");

    // Somebody else with an address that nobody vouches for, or that is taken, does not become that person.
    provider.account("eve", json!({"email": "mia@acme.example", "email_verified": false, "groups": []})).await;
    assert_eq!(Browser::default().sign_in(&platform, &provider, "eve").await.code(), "sign_in_refused");
    let taken = json!({"email": "mia@acme.example", "email_verified": true, "groups": ["acme-research"]});
    provider.account("mallory", taken).await;
    let refused = Browser::default().sign_in(&platform, &provider, "mallory").await;
    assert!(refused.body.contains("another account"), "{}", refused.body);

    // Signing out takes the session's own token along.
    let session = browser.session(&platform).await;
    let csrf = session["csrf_token"].as_str().unwrap();
    let leave = http().delete(format!("http://{at}/api/v1/session")).header("x-csrf-token", csrf);
    let cookie = browser.ours.clone();
    assert_eq!(Browser::ask(&mut browser.ours, leave).await.status, 204);
    browser.ours = cookie;
    assert_eq!(browser.ours(at, "GET", "/api/v1/session", None).await.code(), "unauthenticated");
    let token = session["who"]["token"]["id"].as_str().unwrap();
    let shown = platform.world.get(&platform.world.operator, &format!("/api/v1/tokens/{token}"));
    assert!(crate::world::body(&shown)["revoked_at"].is_string());
    platform.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_tampered_with_or_used_before_is_refused() {
    let provider = Provider::start();
    let platform = platform(&provider.issuer).await;
    let at = platform.server.address();
    provider
        .account("olga", json!({"email": "o@p.example", "email_verified": true, "groups": ["gpu-operators"]}))
        .await;
    let swapped = |url: &str, name: &str| {
        let mut url = reqwest::Url::parse(url).unwrap();
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let other = "A".repeat(43);
        url.query_pairs_mut().clear().extend_pairs(
            pairs.iter().map(|(key, value)| (key.as_str(), if key == name { other.as_str() } else { value.as_str() })),
        );
        url.to_string()
    };
    for part in ["nonce", "code_challenge", "state"] {
        let mut browser = Browser::default();
        let url = swapped(&browser.begin(at, "/").await, part);
        let back = browser.through(&provider.issuer, url, "olga").await;
        let page = browser.ours(at, "GET", &back, None).await;
        assert_eq!((page.status, page.code().as_str()), (403, "sign_in_refused"), "{part}: {}", page.body);
        assert!(!browser.ours.contains_key("gpuaas_session"), "{part}");
    }
    // The answer of one browser is worth nothing in another, and nothing a second time.
    let mut browser = Browser::default();
    let url = browser.begin(at, "/").await;
    let back = browser.through(&provider.issuer, url, "olga").await;
    let mut other = Browser::default();
    other.begin(at, "/").await;
    assert_eq!(other.ours(at, "GET", &back, None).await.code(), "sign_in_refused");
    assert_eq!(Browser::default().ours(at, "GET", &back, None).await.code(), "sign_in_refused");
    let begun = browser.ours.clone();
    let wrong_issuer = back.replace("iss=http", "iss=https");
    assert_ne!(wrong_issuer, back, "the provider says who it is");
    assert_eq!(browser.ours(at, "GET", &wrong_issuer, None).await.code(), "sign_in_refused");
    browser.ours = begun.clone();
    assert_eq!(browser.ours(at, "GET", &back, None).await.status, 303);
    browser.ours = begun;
    let replayed = browser.ours(at, "GET", &back, None).await;
    assert!(replayed.code() == "sign_in_refused" && replayed.body.contains("used before"), "{}", replayed.body);
    // Nobody is sent to another site, and no other site begins a sign-in.
    let abroad = browser.ours(at, "POST", "/api/v1/session/oidc", Some(json!({"return_to": "//evil.example"}))).await;
    assert_eq!(abroad.code(), "invalid_body");
    let forged = http().post(format!("http://{at}/api/v1/session/oidc")).header("origin", "https://evil.example");
    let forged = forged.header("content-type", "application/json").body("{}");
    assert_eq!(Browser::ask(&mut browser.ours, forged).await.code(), "csrf_refused");
    platform.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_keys_are_fetched_and_a_provider_that_is_gone_is_said_to_be() {
    let mut provider = Provider::start();
    let platform = platform(&provider.issuer).await;
    let at = platform.server.address();
    provider.account("olga", json!({"groups": ["gpu-operators"]})).await;
    assert_eq!(Browser::default().sign_in(&platform, &provider, "olga").await.status, 303);
    provider.rotate().await;
    let mut browser = Browser::default();
    assert_eq!(browser.sign_in(&platform, &provider, "olga").await.status, 303, "signed with a key that was not known");
    let name = browser.session(&platform).await["who"]["principal"]["name"].clone();
    assert_eq!(name, json!(format!("{}#olga", provider.issuer)), "without an address of their own");
    // Gone between the beginning and the end.
    let mut browser = Browser::default();
    let url = browser.begin(at, "/").await;
    let back = browser.through(&provider.issuer, url, "olga").await;
    provider.stop();
    let page = browser.ours(at, "GET", &back, None).await;
    assert_eq!((page.status, page.code().as_str()), (503, "sign_in_unavailable"), "{}", page.body);
    platform.server.stop().await;
    // Gone from the beginning.
    let platform = self::platform(&provider.issuer).await;
    let start = Some(json!({}));
    let page = Browser::default().ours(platform.server.address(), "POST", "/api/v1/session/oidc", start).await;
    assert_eq!((page.status, page.code().as_str()), (503, "sign_in_unavailable"), "{}", page.body);
    assert!(platform.door.config().sign_in.oidc.is_some());
    platform.server.stop().await;
}
