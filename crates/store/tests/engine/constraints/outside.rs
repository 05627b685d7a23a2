//! Rules about people in browsers and about webhooks.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, after};

const SESSION: &str = "INSERT INTO sessions (id, secret_hash, principal_id, token_id, owns_token, created_us, seen_us, expires_us) VALUES ('s1', 'h1', 'u1', 'k1', 0, 0, 0, 9)";
const IDENTITY: &str = "INSERT INTO external_identities (issuer, subject, principal_id, created_us, seen_us) VALUES ('i', 'one', 'u1', 0, 0)";
const RULED: &str = "INSERT INTO ruled_members (member_id, principal_id) VALUES ('m1', 'u1')";
const HOOK: &str = "INSERT INTO webhooks (id, tenant_id, project_id, url, event_types, enabled, taken_seq, version, created_us) VALUES ('h1', 't1', 'p1', 'https://x', '[]', 1, 0, 1, 0)";
const KEY: &str = "INSERT INTO webhook_secrets (webhook_id, made_in_version, secret) VALUES ('h1', 1, 'x')";
const DELIVERY: &str = "INSERT INTO webhook_deliveries (id, webhook_id, event_id, state, attempts, tries, next_us, created_us) VALUES ('d1', 'h1', 'e1', 'pending', 0, 0, 0, 0)";
const ATTEMPT: &str =
    "INSERT INTO webhook_attempts (delivery_id, number, at_us, duration_us, body) VALUES ('d1', 1, 0, 0, '')";

const SENT: &[&str] = &[HOOK, KEY, DELIVERY, ATTEMPT];

pub(super) const CASES: &[Case] = &[
    after(
        &[SESSION],
        "two sessions with one secret",
        Unique("sessions_secret_hash_key"),
        "INSERT INTO sessions (id, secret_hash, principal_id, token_id, owns_token, created_us, seen_us, expires_us) VALUES ('s2', 'h1', 'u1', 'k1', 0, 0, 0, 9)",
    ),
    after(&[SESSION], "a session of nobody", Reference, "UPDATE sessions SET principal_id = 'zz'"),
    after(&[SESSION], "a session of no token", Reference, "UPDATE sessions SET token_id = 'zz'"),
    after(&[SESSION], "a session that half owns a token", Check, "UPDATE sessions SET owns_token = 2"),
    after(&[SESSION], "a session that ends before it begins", Check, "UPDATE sessions SET expires_us = 0"),
    after(
        &[IDENTITY],
        "two accounts of one person at a provider",
        Unique("external_identities_by_principal"),
        "INSERT INTO external_identities (issuer, subject, principal_id, created_us, seen_us) VALUES ('i', 'two', 'u1', 0, 0)",
    ),
    after(
        &[IDENTITY],
        "one account of two people",
        Unique("external_identities_pkey"),
        "INSERT INTO external_identities (issuer, subject, principal_id, created_us, seen_us) VALUES ('i', 'one', 'u2', 0, 0)",
    ),
    after(&[IDENTITY], "an account of nobody", Reference, "UPDATE external_identities SET principal_id = 'zz'"),
    after(&[IDENTITY], "an account in no role", Check, "UPDATE external_identities SET platform_role = 'king'"),
    after(&[RULED], "a rule's member that is none", Reference, "UPDATE ruled_members SET member_id = 'zz'"),
    after(&[RULED], "a rule's member who is nobody", Reference, "UPDATE ruled_members SET principal_id = 'zz'"),
    after(&[HOOK], "a webhook of no tenant", Reference, "UPDATE webhooks SET tenant_id = 'zz'"),
    after(&[HOOK], "a webhook of no project", Reference, "UPDATE webhooks SET project_id = 'zz'"),
    after(&[HOOK], "a webhook that leads nowhere", Check, "UPDATE webhooks SET url = ''"),
    after(&[HOOK], "a webhook half enabled", Check, "UPDATE webhooks SET enabled = 2"),
    after(&[HOOK], "a webhook before all events", Check, "UPDATE webhooks SET taken_seq = -1"),
    after(&[HOOK], "enabled, and a reason why not", Check, "UPDATE webhooks SET disabled_why = 'gone'"),
    after(&[HOOK, KEY], "a key of no webhook", Reference, "UPDATE webhook_secrets SET webhook_id = 'zz'"),
    after(&[HOOK, KEY], "two keys of one version", Unique("webhook_secrets_pkey"), KEY),
    after(
        SENT,
        "two deliveries of one event",
        Unique("webhook_deliveries_webhook_id_event_id_key"),
        "INSERT INTO webhook_deliveries (id, webhook_id, event_id, state, attempts, tries, next_us, created_us) VALUES ('d2', 'h1', 'e1', 'pending', 0, 0, 0, 0)",
    ),
    after(SENT, "a delivery in no state", Check, "UPDATE webhook_deliveries SET state = 'odd'"),
    after(SENT, "tried less than never", Check, "UPDATE webhook_deliveries SET attempts = -1, tries = -1"),
    after(SENT, "tried more often of late than ever", Check, "UPDATE webhook_deliveries SET tries = 1"),
    after(SENT, "delivered, and sent again", Check, "UPDATE webhook_deliveries SET state = 'delivered'"),
    after(SENT, "ended, and sent again", Check, "UPDATE webhook_deliveries SET ended_us = 1"),
    after(SENT, "an attempt at no delivery", Reference, "UPDATE webhook_attempts SET delivery_id = 'zz'"),
    after(SENT, "an attempt before the first", Check, "UPDATE webhook_attempts SET number = 0"),
    after(SENT, "one attempt twice", Unique("webhook_attempts_pkey"), ATTEMPT),
];
