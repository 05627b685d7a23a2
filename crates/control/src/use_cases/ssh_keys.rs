//! Public keys of a project: added, shown, removed. What a key is worth is looked at once, when it is added; from then on it
//! is a line of text with a fingerprint.

use api::{
    Code, Nothing, Problem,
    page::Page,
    ssh_key::{SshKeyCreate, SshKeyDelete, SshKeyList, SshKeyShow, SshKeyView},
};
use model::{SshKeyId, tenancy, text::PublicKeyLine};
use ssh_key::{HashAlg, PublicKey, public::KeyData};
use store::{Page as Rows, projects::ProjectRow, ssh_keys, ssh_keys::SshKeyRow};

use super::{name_taken, state_conflict};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

/// Keys that a project may have.
const KEYS_MAX: i64 = 200;
/// Shorter RSA keys are not taken.
const RSA_BITS_MIN: usize = 2048;
/// Longer ones only cost time.
const RSA_BITS_MAX: usize = 16_384;

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<SshKeyList>(ssh_key_list),
        route::<SshKeyCreate>(ssh_key_create),
        route::<SshKeyShow>(ssh_key_show),
        route::<SshKeyDelete>(ssh_key_delete),
    ]
}

fn answer(row: SshKeyRow) -> Answer<SshKeyView> {
    let (id, tenant, version) = (row.id.clone(), row.tenant_id.clone(), row.version);
    Answer::new(views::ssh_key(row)).version(version).about(id, Some(&tenant))
}

fn ssh_key_list(ctx: &mut Ctx<'_, '_>, input: Input<SshKeyList>) -> Result<Answer<Page<SshKeyView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = ssh_keys::of_project(ctx.tx, &project.id, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::ssh_key(row)))?;
    Ok(Answer::page(page))
}

fn ssh_key_create(ctx: &mut Ctx<'_, '_>, input: Input<SshKeyCreate>) -> Result<Answer<SshKeyView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    if project.desired == tenancy::Desired::Deleted {
        return Err(state_conflict("The project is being deleted; nothing can be added to it."));
    }
    let key = Key::read(&body.public_key)?;
    refuse_what_is_there(ctx, &project, &key, body.name.as_str())?;
    let id = SshKeyId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = ssh_keys::SshKeyNew {
        id: &id,
        tenant_id: &project.tenant_id,
        project_id: &project.id,
        name: &body.name,
        public_key: &key.line,
        fingerprint: &key.fingerprint,
    };
    ssh_keys::insert(ctx.tx, &mut ctx.stamp, new).map_err(name_taken("/name", body.name.as_str()))?;
    let row = ssh_keys::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row).at(format!("/api/v1/ssh-keys/{id}")))
}

// Says which of the two it is; the schema alone knows only that something is there twice.
fn refuse_what_is_there(ctx: &mut Ctx<'_, '_>, project: &ProjectRow, key: &Key, name: &str) -> Result<(), Refusal> {
    let known = ssh_keys::of_project(ctx.tx, &project.id, Rows::first(KEYS_MAX))?;
    if let Some(same) = known.iter().find(|known| known.fingerprint == key.fingerprint) {
        let detail = format!("The project has this key already; it is called {}.", same.name);
        return Err(Problem::new(Code::NameTaken, detail)
            .with_field("/public_key", "a key that is not there yet")
            .into());
    }
    if known.iter().any(|known| known.name.as_str() == name) {
        let problem = Problem::new(Code::NameTaken, format!("The name {name} is in use."));
        return Err(problem.with_field("/name", "a name that is not in use").into());
    }
    if i64::try_from(known.len()).is_ok_and(|count| count >= KEYS_MAX) {
        return Err(state_conflict(format!("The project has {KEYS_MAX} public keys; remove one first.")));
    }
    Ok(())
}

fn ssh_key_show(ctx: &mut Ctx<'_, '_>, input: Input<SshKeyShow>) -> Result<Answer<SshKeyView>, Refusal> {
    Ok(answer(ctx.ssh_key(&input.path.ssh_key_id)?))
}

fn ssh_key_delete(ctx: &mut Ctx<'_, '_>, input: Input<SshKeyDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.ssh_key(&input.path.ssh_key_id)?;
    ctx.check_version(input.if_match, row.version)?;
    ssh_keys::delete(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(&row.id, Some(&row.tenant_id)))
}

/// A key that can be used.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    line: String,
    fingerprint: String,
}

impl Key {
    fn read(line: &PublicKeyLine) -> Result<Self, Refusal> {
        let refused = |detail: String| -> Refusal {
            let accepted =
                "an Ed25519, ECDSA or security key, or an RSA key of at least 2048 bits, as one line without options";
            Problem::new(Code::SshKeyRefused, detail).with_field("/public_key", accepted).into()
        };
        let key =
            PublicKey::from_openssh(line.as_str()).map_err(|_| refused("This is not a public key.".to_owned()))?;
        match key.key_data() {
            KeyData::Ed25519(_) | KeyData::Ecdsa(_) | KeyData::SkEd25519(_) | KeyData::SkEcdsaSha2NistP256(_) => {}
            KeyData::Rsa(rsa) => {
                let bits = rsa.n.as_positive_bytes().map_or(0, bits_of);
                if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
                    let word = if bits < RSA_BITS_MIN { "short" } else { "long" };
                    return Err(refused(format!("An RSA key of {bits} bits is too {word}.")));
                }
            }
            other => return Err(refused(format!("Keys of the kind {} are not taken.", other.algorithm()))),
        }
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        // What is stored is written anew, so that it holds the key and its comment and nothing else.
        let line = key.to_openssh().map_err(|_| refused("This is not a public key.".to_owned()))?;
        Ok(Self { line, fingerprint })
    }
}

fn bits_of(number: &[u8]) -> usize {
    let zeros = number.first().map_or(0, |first| usize::try_from(first.leading_zeros()).unwrap_or(0));
    (number.len() * 8).saturating_sub(zeros)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(line: &str) -> Result<Key, String> {
        Key::read(&line.parse().unwrap()).map_err(|refusal| refusal.into_problem().detail)
    }

    #[test]
    fn keys_people_have_are_taken_and_others_named() {
        let good =
            read("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada lovelace");
        let key = good.unwrap();
        assert!(key.fingerprint.starts_with("SHA256:"), "{}", key.fingerprint);
        assert!(key.line.ends_with(" ada lovelace"), "{}", key.line);
        for bad in [
            "hello",
            "ssh-ed25519 AAAA",
            "ssh-ed25519 not-base64!",
            "command=\"id\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ",
            "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ",
        ] {
            assert_eq!(read(bad).unwrap_err(), "This is not a public key.", "{bad}");
        }
    }
}
