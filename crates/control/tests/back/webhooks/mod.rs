//! Events on their way to webhooks, to a real receiver over real connections, on both engines. Time moves only when a test
//! moves it, so a day between two attempts costs nothing.

mod receiver;

use std::{
    io,
    net::IpAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use control::{
    bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request},
    metrics::Metrics,
    plane::ControlPlane,
    webhooks::{Courier, CourierStep, Names, Poster, Reach},
};
use futures::future::BoxFuture;
use model::{ProjectId, SshKeyId, TenantId};
use serde_json::{Value, json};
use store::{
    Db,
    projects::{self, ProjectNew},
    ssh_keys::{self, SshKeyNew},
    tenants,
    testing::both_engines,
};

use self::receiver::{Receiver, answer};
use crate::{queues::Two, world::World};

/// Names that the test makes up: what each look-up finds, one after the other; the last one stays.
struct MadeUp {
    found: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl MadeUp {
    fn finding(found: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { found: found.iter().map(parse).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Names for MadeUp {
    fn look_up(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.found.len() - 1);
        let found = self.found[turn].clone();
        Box::pin(async move { Ok(found) })
    }
}

fn reach(allowed: &[&str]) -> Reach {
    Reach { allowed: allowed.iter().map(|range| range.parse().unwrap()).collect() }
}

/// A world with a door, and a courier that leads it.
struct Post {
    world: World,
    door: FrontDoor,
    secret: String,
    courier: Courier,
    metrics: Metrics,
    runtime: tokio::runtime::Runtime,
}

impl Post {
    fn new(db: Db) -> Self {
        Self::on(World::new(db, 0), &["127.0.0.0/8"], MadeUp::finding(&[&["127.0.0.1"]]), None)
    }

    fn on(world: World, allowed: &[&str], names: Arc<dyn Names>, authorities: Option<&Path>) -> Self {
        let config = FrontDoorConfig { webhook_reach: reach(allowed), ..FrontDoorConfig::default() };
        let door = FrontDoor::new(world.ports.clone(), config).unwrap();
        let ports = world.ports.clone();
        let made = world.write(move |tx, stamp| {
            let email = "root@platform.example".parse().unwrap();
            bootstrap::first_operator(tx, stamp, &ports, &email, (300 * 86_400).try_into().unwrap())
        });
        let secret = made.unwrap().unwrap().secret.reveal().to_owned();
        let poster = Poster::new(reach(allowed), names, authorities).unwrap();
        let metrics = Metrics::new();
        let parts = (world.db.clone(), world.ports.clone());
        let courier = Courier::new(parts, world.config.clone(), world.plane.led(), poster, metrics.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut post = Self { world, door, secret, courier, metrics, runtime };
        post.world.settle();
        post
    }

    fn send(&self, request: Request) -> (u16, Value) {
        let key: String = self.world.ports.id_bits().iter().map(|byte| format!("{byte:02x}")).collect();
        let response = self.door.perform(&self.world.db, request.bearer(&self.secret).key(&key));
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Value {
        let response = self.door.perform(&self.world.db, Request::new("GET", path).bearer(&self.secret));
        assert_eq!(response.status, 200, "{path}");
        serde_json::from_slice(&response.body).unwrap()
    }

    fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Request::new("POST", path).json(body.to_string()))
    }

    fn act(&self, path: &str) -> (u16, Value) {
        self.send(Request::new("POST", path))
    }

    /// A webhook of the world's tenant: its id and its secret.
    fn hook(&self, body: Value) -> (String, String) {
        let (status, made) = self.post(&format!("/api/v1/tenants/{}/webhooks", self.world.tenant), body);
        assert_eq!(status, 201, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["webhook"]["id"]), text(&made["secret"]))
    }

    fn shown(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/webhooks/{id}"))
    }

    fn deliveries(&self, id: &str) -> Vec<Value> {
        self.get(&format!("/api/v1/webhooks/{id}/deliveries"))["items"].as_array().unwrap().clone()
    }

    fn delivery(&self, id: &str, at: usize) -> Value {
        let delivery = self.deliveries(id)[at]["id"].as_str().unwrap().to_owned();
        self.get(&format!("/api/v1/webhooks/{id}/deliveries/{delivery}"))
    }

    /// Something happens in a project: one event.
    fn happens_in(&self, tenant: &TenantId, project: &ProjectId) -> String {
        let (tenant, project) = (tenant.clone(), project.clone());
        let id = SshKeyId::from_parts(self.world.clock_now(), self.world.ports.id_bits());
        let made = id.to_string();
        self.world
            .write(move |tx, stamp| {
                let unique = id.as_str();
                let new = SshKeyNew {
                    id: &id,
                    tenant_id: &tenant,
                    project_id: &project,
                    name: &format!("k-{}", &unique[unique.len() - 8..]).parse().unwrap(),
                    public_key: unique,
                    fingerprint: unique,
                };
                ssh_keys::insert(tx, stamp, new)
            })
            .unwrap();
        made
    }

    fn happens(&self) -> String {
        self.happens_in(&self.world.tenant.clone(), &self.world.project.clone())
    }

    /// Numbers what happened and sends what is due.
    fn step(&mut self) -> CourierStep {
        self.world.settle();
        self.runtime.block_on(self.courier.step()).unwrap()
    }

    fn later_s(&mut self, seconds: i64) -> CourierStep {
        self.world.advance_s(seconds);
        self.step()
    }
}

fn done(delivered: usize, failed: usize, disabled: usize) -> CourierStep {
    CourierStep { delivered, failed, disabled }
}

#[test]
fn an_event_arrives_signed_in_order_and_once() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, secret) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        let subjects: Vec<String> = (0..20).map(|_| post.happens()).collect();
        assert_eq!(post.step(), done(16, 0, 0), "one lane carries so many");
        assert_eq!(post.step(), done(4, 0, 0));
        assert_eq!(post.step(), done(0, 0, 0), "and nothing twice");
        let sent = receiver.take();
        let told: Vec<String> = sent.iter().map(|one| one.event()["subject"].as_str().unwrap().to_owned()).collect();
        let numbers: Vec<i64> =
            sent.iter().map(|one| one.event()["sequence"].as_str().unwrap().parse().unwrap()).collect();
        assert!(numbers.is_sorted() && told.len() == 20 && subjects.iter().all(|subject| told.contains(subject)));
        for one in &sent {
            assert!(one.is_signed_with(&secret));
            assert_eq!(one.event()["id"], one.header("webhook-id"));
            assert_eq!(one.event()["specversion"], "1.0");
            assert_eq!(one.header("content-type"), "application/cloudevents+json");
            assert_eq!(one.path, "/in?from=gpuaas");
        }
        let listed = post.get(&format!("/api/v1/events?after={}&page_size=1", numbers[0] - 1));
        assert_eq!(sent[0].event(), listed["items"][0], "the same as in the stream of events");
        let shown = post.shown(&id);
        assert_eq!((shown["open_deliveries"].as_i64(), shown["enabled"].as_bool()), (Some(0), Some(true)));
        let detail = post.delivery(&id, 0);
        assert_eq!(detail["delivery"]["state"], "delivered");
        assert_eq!(
            (detail["attempts"][0]["status"].as_i64(), &detail["attempts"][0]["response_body"]),
            (Some(200), &json!("thanks"))
        );
        let text = detail.to_string() + &shown.to_string();
        assert!(!text.contains("whsec_") && !text.contains("v1,"), "neither secret nor signature is shown");
        assert!(post.metrics.text().contains("gpuaas_webhook_attempts_total{outcome=\"delivered\"} 20"));
    });
}

#[test]
fn what_fails_is_tried_again_on_schedule_beside_what_is_new() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.created"]}));
        receiver.will_answer([answer(500)]);
        post.happens();
        assert_eq!(post.step(), done(0, 1, 0));
        let first = receiver.take();
        assert_eq!(post.step(), done(0, 0, 0), "not before it is due");
        assert!(post.shown(&id)["failing_since"].is_string());
        post.happens();
        receiver.will_answer([answer(200), (503, vec![("retry-after", "600".to_owned())], String::new())]);
        // The new one after a rest of a second, the old one when five seconds and a little have passed.
        assert_eq!(post.later_s(2), done(1, 0, 0), "it does not wait for the one that failed");
        assert_ne!(receiver.take()[0].header("webhook-id"), first[0].header("webhook-id"));
        assert_eq!(post.later_s(4), done(0, 1, 0));
        let again = receiver.take();
        assert_eq!(again[0].header("webhook-id"), first[0].header("webhook-id"), "the same id");
        assert_ne!(again[0].header("webhook-signature"), first[0].header("webhook-signature"), "at another moment");
        assert_eq!(post.later_s(400), done(0, 0, 0), "it was asked to wait for ten minutes");
        assert_eq!(post.later_s(300), done(1, 0, 0));
        let detail = post.delivery(&id, 1);
        let statuses: Vec<_> =
            detail["attempts"].as_array().unwrap().iter().map(|attempt| attempt["status"].as_i64().unwrap()).collect();
        assert_eq!(statuses, [200, 503, 500], "newest first");
        assert_eq!(detail["attempts"][2]["error"], "answered 500");
        assert!(post.shown(&id).get("failing_since").is_none());
    });
}

#[test]
fn after_every_attempt_failed_it_is_over_and_after_days_of_it_the_webhook_is_disabled() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        receiver.will_answer((0..20).map(|_| answer(500)));
        post.happens();
        let mut disabled = 0;
        let mut attempts = post.step().failed;
        for day in 0..12 {
            for _ in 0..24 {
                let step = post.later_s(3600);
                attempts += step.failed;
                disabled += step.disabled;
            }
            if day == 2 {
                post.happens();
            }
            if disabled > 0 {
                break;
            }
        }
        assert_eq!((attempts, disabled), (20, 1), "ten attempts for each, and then no more");
        let shown = post.shown(&id);
        assert_eq!(
            (shown["enabled"].as_bool(), &shown["disabled_why"]),
            (Some(false), &json!("nothing was taken for 5 days"))
        );
        assert!(post.deliveries(&id).iter().all(|one| one["state"] == "exhausted"));
        post.happens();
        assert_eq!(post.later_s(3600), done(0, 0, 0), "nothing is sent to one that is disabled");
        assert_eq!(post.act(&format!("/api/v1/webhooks/{id}/test")).0, 409);
        // Enabled again it begins with what happens from then on.
        let request = Request::new("PATCH", &format!("/api/v1/webhooks/{id}")).bearer(&post.secret);
        let request = request.if_match(shown["version"].as_i64().unwrap()).json(json!({"enabled": true}).to_string());
        assert_eq!(post.door.perform(&post.world.db, request).status, 200);
        receiver.take();
        let subject = post.happens();
        assert_eq!(post.later_s(60), done(1, 0, 0));
        let sent = receiver.take();
        assert_eq!((sent.len(), sent[0].event()["subject"].as_str()), (1, Some(subject.as_str())));
    });
}

#[test]
fn a_receiver_that_is_gone_is_not_asked_again() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        receiver.will_answer([answer(410)]);
        post.happens();
        post.happens();
        assert_eq!(post.step(), done(0, 1, 1));
        let shown = post.shown(&id);
        assert_eq!(shown["enabled"], false);
        assert!(shown["disabled_why"].as_str().unwrap().contains("410"), "{shown}");
        post.happens();
        assert_eq!(post.later_s(90_000), done(0, 0, 0));
        assert_eq!(receiver.take().len(), 1);
        let events = post.get("/api/v1/events?after=0&page_size=200");
        let told = |event: &&Value| event["subject"] == id.as_str() && event["data"]["reason"] == "disabled";
        assert_eq!(events["items"].as_array().unwrap().iter().filter(told).count(), 1, "an event says so");
        post.world.check_history();
    });
}

#[test]
fn a_redirect_is_a_failure_and_is_not_followed() {
    both_engines(|db| {
        let (receiver, elsewhere) = (Receiver::start(), Receiver::start());
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        for status in [301, 302, 303, 307, 308] {
            receiver.will_answer([(status, vec![("location", elsewhere.url())], String::new())]);
            post.happens();
            post.step();
            post.world.advance_s(65);
        }
        assert!(elsewhere.take().is_empty());
        let detail = post.delivery(&id, post.deliveries(&id).len() - 1);
        let errors = detail["attempts"].to_string();
        assert!(errors.contains("answered 301; redirects are not followed"), "{errors}");
    });
}

#[test]
fn private_addresses_are_refused_when_written_and_when_looked_up() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let url = |host: &str| format!("https://{host}:{}/", receiver.port());
        let world = World::new(db, 0);
        // Public at first and private afterwards: what counts is what the one look-up of each attempt says.
        let names = MadeUp::finding(&[
            &["8.8.8.8", "127.0.0.1"],
            &["127.0.0.1"],
            &["::ffff:127.0.0.1"],
            &["169.254.169.254"],
            &[],
        ]);
        let mut post = Post::on(world, &[], names.clone(), None);
        let path = format!("/api/v1/tenants/{}/webhooks", post.world.tenant);
        for host in [
            "127.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "10.1.2.3",
            "0.0.0.0",
            "100.64.0.1",
            "2130706433",
        ] {
            let (status, told) = post.post(&path, json!({"url": url(host)}));
            assert_eq!((status, &told["code"]), (422, &json!("webhook_refused")), "{host}: {told}");
        }
        for (bad, status) in [
            ("http://hooks.example/", 422),
            ("https://user:pw@hooks.example/", 400),
            ("ftp://hooks.example/", 400),
            ("https://hooks.example:22/", 422),
        ] {
            assert_eq!(post.post(&path, json!({"url": bad})).0, status, "{bad}");
        }
        let (id, _) = post.hook(json!({"url": url("hooks.example"), "event_types": ["ssh_key.*"]}));
        post.happens();
        let mut step = post.step();
        for _ in 0..4 {
            assert_eq!(step, done(0, 1, 0));
            step = post.later_s(6 * 3600);
        }
        assert_eq!(names.asked.load(Ordering::SeqCst), 5, "looked up once for each attempt");
        assert!(receiver.take().is_empty(), "nothing knocked");
        let told = post.delivery(&id, 0)["attempts"].to_string();
        for word in ["a loopback address", "a link-local address", "has no address"] {
            assert!(told.contains(word), "{told}");
        }
    });
}

#[test]
fn an_encrypted_receiver_is_believed_under_its_own_name_and_authority_only() {
    both_engines(|db| {
        let receiver = Receiver::with_tls();
        let url = |host: &str| format!("https://{host}:{}/", receiver.port());
        let authority = receiver.certificate();
        let names = || MadeUp::finding(&[&["127.0.0.1"]]);
        let mut post = Post::on(World::new(db, 0), &["127.0.0.0/8"], names(), Some(&authority));
        let (_, secret) = post.hook(json!({"url": url("hooks.example"), "event_types": ["ssh_key.*"]}));
        let (other, _) = post.hook(json!({"url": url("other.example"), "event_types": ["ssh_key.*"]}));
        post.happens();
        assert_eq!(post.step(), done(1, 1, 0));
        assert!(receiver.take()[0].is_signed_with(&secret));
        let told = post.delivery(&other, 0)["attempts"][0]["error"].as_str().unwrap().to_owned();
        assert!(told.contains("could not be encrypted"), "{told}");
        // Without the file nobody vouches for it.
        let poster = Poster::new(reach(&["127.0.0.0/8"]), names(), None).unwrap();
        let parts = (post.world.db.clone(), post.world.ports.clone());
        post.courier = Courier::new(parts, post.world.config.clone(), post.world.plane.led(), poster, Metrics::new());
        post.happens();
        assert_eq!(post.step(), done(0, 2, 0));
        assert!(receiver.take().is_empty());
    });
}

#[test]
fn replaying_sends_the_same_ids_again() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        (0..3).for_each(|_| drop(post.happens()));
        assert_eq!(post.step(), done(3, 0, 0));
        let first = receiver.take();
        let ids = |sent: &[receiver::Sent]| -> Vec<String> {
            sent.iter().map(|one| one.header("webhook-id").to_owned()).collect()
        };
        let delivery = post.deliveries(&id)[0]["id"].as_str().unwrap().to_owned();
        let event = post.deliveries(&id)[0]["event_id"].as_str().unwrap().to_owned();
        let (status, told) = post.act(&format!("/api/v1/webhooks/{id}/deliveries/{delivery}/replay"));
        assert_eq!((status, &told["state"]), (200, &json!("pending")));
        assert_eq!(post.step(), done(1, 0, 0));
        assert_eq!(ids(&receiver.take()), [event]);
        let second: i64 = first[1].event()["sequence"].as_str().unwrap().parse().unwrap();
        assert_eq!(post.post(&format!("/api/v1/webhooks/{id}/replay"), json!({"after": second - 1})).0, 200);
        assert_eq!(post.step(), done(2, 0, 0), "from there on, and no other");
        assert_eq!(ids(&receiver.take()), ids(&first)[1..]);
        assert_eq!(post.post(&format!("/api/v1/webhooks/{id}/replay"), json!({"after": 9_000_000})).0, 200);
        assert_eq!(post.step(), done(0, 0, 0), "what has not happened cannot be sent again");
    });
}

#[test]
fn a_test_is_an_event_of_its_own_whatever_was_asked_for() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, secret) = post.hook(json!({"url": receiver.url(), "event_types": ["node.*"]}));
        let (status, told) = post.act(&format!("/api/v1/webhooks/{id}/test"));
        assert_eq!((status, &told["state"]), (200, &json!("pending")), "{told}");
        assert_eq!(post.step(), done(1, 0, 0));
        let sent = receiver.take();
        assert_eq!(sent[0].event()["type"], "io.gpuaas.webhook.tested.v1");
        assert_eq!(
            (sent[0].event()["subject"].as_str(), sent[0].header("webhook-id")),
            (Some(id.as_str()), told["event_id"].as_str().unwrap())
        );
        assert!(sent[0].is_signed_with(&secret));
        assert_eq!(post.step(), done(0, 0, 0));
        // One that asks for events of webhooks gets it once all the same.
        let (all, _) = post.hook(json!({"url": receiver.url(), "event_types": ["webhook.tested"]}));
        post.act(&format!("/api/v1/webhooks/{all}/test"));
        assert_eq!(post.step(), done(1, 0, 0));
        assert_eq!(post.step(), done(0, 0, 0));
    });
}

#[test]
fn both_secrets_sign_while_one_follows_the_other() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, old) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        let path = format!("/api/v1/webhooks/{id}/rotate-secret");
        let (status, made) = post.post(&path, json!({"previous_for_s": 3600}));
        assert_eq!(status, 200);
        let new = made["secret"].as_str().unwrap().to_owned();
        assert!(made["webhook"]["previous_secret_until"].is_string() && new.starts_with("whsec_"));
        post.happens();
        post.step();
        let sent = receiver.take();
        assert!(sent[0].is_signed_with(&new) && sent[0].is_signed_with(&old));
        post.happens();
        post.later_s(3600);
        let sent = receiver.take();
        assert!(sent[0].is_signed_with(&new) && !sent[0].is_signed_with(&old));
        let (_, made) = post.post(&path, json!({"previous_for_s": 0}));
        post.happens();
        post.step();
        let sent = receiver.take();
        assert!(sent[0].is_signed_with(made["secret"].as_str().unwrap()) && !sent[0].is_signed_with(&new));
    });
}

#[test]
fn a_tenants_webhook_gets_its_own_events_and_the_platforms_gets_all() {
    both_engines(|db| {
        let (ours, all, narrow) = (Receiver::start(), Receiver::start(), Receiver::start());
        let mut post = Post::new(db);
        let (now, bits) = (post.world.clock_now(), || post.world.ports.id_bits());
        let (tenant, project, second) =
            (TenantId::from_parts(now, bits()), ProjectId::from_parts(now, bits()), ProjectId::from_parts(now, bits()));
        let (made, within, beside, own) = (tenant.clone(), project.clone(), second.clone(), post.world.tenant.clone());
        post.world
            .write(move |tx, stamp| {
                tenants::insert(tx, stamp, &made, &"umbra".parse().unwrap(), &"Umbra".parse().unwrap())?;
                for (project, tenant, slug) in [(&within, &made, "lab"), (&beside, &own, "side")] {
                    let (slug, name) = (slug.parse().unwrap(), "Lab".parse().unwrap());
                    projects::insert(
                        tx,
                        stamp,
                        ProjectNew { id: project, tenant_id: tenant, slug: &slug, name: &name, gpu_cap: 4 },
                    )?;
                }
                Ok(())
            })
            .unwrap();
        post.world.settle();
        post.hook(json!({"url": ours.url()}));
        post.hook(json!({"url": narrow.url(), "project_id": second}));
        let (status, _) = post.post("/api/v1/admin/webhooks", json!({"url": all.url(), "event_types": ["ssh_key.*"]}));
        assert_eq!(status, 201);
        post.step();
        for receiver in [&ours, &all, &narrow] {
            receiver.take();
        }
        let (mine, theirs) = (post.happens(), post.happens_in(&tenant, &project));
        let side = post.happens_in(&post.world.tenant.clone(), &second);
        while post.step().delivered > 0 {}
        let subjects = |receiver: &Receiver| {
            let mut told: Vec<String> =
                receiver.take().iter().map(|one| one.event()["subject"].as_str().unwrap().to_owned()).collect();
            told.sort();
            told
        };
        let sorted = |mut list: Vec<&str>| {
            list.sort_unstable();
            list.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(subjects(&ours), sorted(vec![&mine, &side]));
        assert_eq!(subjects(&narrow), sorted(vec![&side]));
        assert_eq!(subjects(&all), sorted(vec![&mine, &theirs, &side]));
        let (status, _) = post.post(
            &format!("/api/v1/tenants/{}/webhooks", post.world.tenant),
            json!({"url": ours.url(), "project_id": project}),
        );
        assert_eq!(status, 422, "a project of another tenant is no project here");
    });
}

#[test]
fn who_leads_sends_and_what_was_not_written_down_is_sent_again_under_the_same_id() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db.clone());
        post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        let config = control::plane::PlaneConfig { replica: "other".to_owned(), ..post.world.config.clone() };
        let mut other = ControlPlane::new(db.clone(), post.world.ports.clone(), config.clone());
        let poster = Poster::new(reach(&["127.0.0.0/8"]), MadeUp::finding(&[&["127.0.0.1"]]), None).unwrap();
        let parts = (db, post.world.ports.clone());
        let mut theirs = Courier::new(parts, config, other.led(), poster, Metrics::new());
        assert!(!other.step(post.world.clock_now()).leading);
        post.happens();
        assert_eq!(post.runtime.block_on(theirs.step()).unwrap(), done(0, 0, 0), "who does not lead sends nothing");
        assert_eq!(post.step(), done(1, 0, 0));
        let first = receiver.take();
        // The other takes over while the leader waits for an answer, which then cannot be written down.
        post.happens();
        post.world.settle();
        post.world.advance_s(10);
        let now = post.world.clock_now();
        receiver.meanwhile(move || assert!(other.step(now).leading));
        let lost = post.runtime.block_on(post.courier.step());
        assert_eq!(lost, Err(store::StoreError::LostLeadership));
        assert_eq!(post.runtime.block_on(theirs.step()).unwrap(), done(1, 0, 0));
        let sent = receiver.take();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
        assert_ne!(
            sent[0].header("webhook-id"),
            first[0].header("webhook-id"),
            "what was written down is not sent again"
        );
        assert_eq!(post.runtime.block_on(theirs.step()).unwrap(), done(0, 0, 0));
    });
}

#[test]
fn nothing_is_sent_to_a_webhook_that_was_removed_and_its_deliveries_are_forgotten() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        receiver.will_answer([answer(500)]);
        post.happens();
        assert_eq!(post.step(), done(0, 1, 0));
        receiver.take();
        assert_eq!(post.send(Request::new("DELETE", &format!("/api/v1/webhooks/{id}"))).0, 204);
        post.happens();
        assert_eq!(post.later_s(3600), done(0, 0, 0));
        assert!(receiver.take().is_empty());
        let left = post.world.read(|tx| {
            let count = |tx: &mut store::Tx<'_>, sql: &'static str| tx.query_one(sql, &[])?.int(0);
            Ok((
                count(tx, "SELECT COUNT(*) FROM webhook_deliveries")?,
                count(tx, "SELECT COUNT(*) FROM webhook_attempts")?,
                count(tx, "SELECT COUNT(*) FROM webhook_secrets")?,
            ))
        });
        assert_eq!(left, (0, 0, 0));
        post.world.check_history();
    });
}

#[test]
fn deliveries_are_kept_for_thirty_days() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut post = Post::new(db);
        let (id, _) = post.hook(json!({"url": receiver.url(), "event_types": ["ssh_key.*"]}));
        post.happens();
        assert_eq!(post.step(), done(1, 0, 0));
        post.later_s(29 * 86_400);
        assert_eq!(post.deliveries(&id).len(), 1);
        post.later_s(2 * 86_400);
        assert_eq!(post.deliveries(&id).len(), 0);
        assert_eq!(post.step(), done(0, 0, 0), "forgotten is not sent again");
    });
}

#[test]
fn whoever_has_to_go_is_told_by_webhook_too() {
    both_engines(|db| {
        let receiver = Receiver::start();
        let mut two = Two::new(db, 1);
        let (tenant, url) = (two.world.tenant.clone(), receiver.url());
        let world = std::mem::replace(
            &mut two.world,
            World::bare(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap(), 0),
        );
        let post = Post::on(world, &["127.0.0.0/8"], MadeUp::finding(&[&["127.0.0.1"]]), None);
        let body = json!({"url": url, "event_types": ["workload.preempted"]});
        assert_eq!(post.post(&format!("/api/v1/tenants/{tenant}/webhooks"), body).0, 201);
        let Post { world, mut courier, runtime, .. } = post;
        two.world = world;
        let (gang, _) = two.gang_told_to_go();
        two.world.settle();
        assert_eq!(runtime.block_on(courier.step()).unwrap(), done(1, 0, 0));
        let told = receiver.take()[0].event();
        assert_eq!(told["type"], "io.gpuaas.workload.preempted.v1");
        assert_eq!(
            (told["subject"].as_str(), told["data"]["tenant_id"].as_str()),
            (Some(gang.as_str()), Some(tenant.as_str()))
        );
        assert!(told["data"]["detail"].is_object(), "with until when and by whom: {told}");
    });
}
