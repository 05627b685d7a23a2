//! Who owns what an answer names. Every id that a client of one tenant is shown must belong to that tenant, or to nobody.

use model::{AllocationId, MemberId, OperationId, ProjectId, TenantId, TokenId, WorkloadId};
use std::{collections::BTreeMap, str::FromStr};
use store::{Db, StoreError, Tx, allocations, members, operations, projects, tokens, workloads};

/// Remembers owners; an owner never changes.
#[derive(Debug, Default)]
pub struct Owners(BTreeMap<String, Option<TenantId>>);

impl Owners {
    /// The first id in a text that belongs to another tenant.
    pub fn foreign(&mut self, db: &Db, tenant: &TenantId, text: &[u8]) -> Result<Option<String>, StoreError> {
        for id in ids(text) {
            let owner = match self.0.get(id) {
                Some(owner) => owner.clone(),
                None => {
                    let asked = id.to_owned();
                    let owner = db.read(move |tx| owner(tx, &asked))?;
                    self.0.insert(id.to_owned(), owner.clone());
                    owner
                }
            };
            if owner.is_some_and(|owner| owner != *tenant) {
                return Ok(Some(id.to_owned()));
            }
        }
        Ok(None)
    }
}

fn owner(tx: &mut Tx<'_>, id: &str) -> Result<Option<TenantId>, StoreError> {
    fn read<T: FromStr>(id: &str) -> Option<T> {
        id.parse().ok()
    }
    Ok(match id.get(..3) {
        Some("tnt") => read::<TenantId>(id),
        Some("prj") => match read::<ProjectId>(id) {
            Some(id) => projects::get(tx, &id)?.map(|row| row.tenant_id),
            None => None,
        },
        Some("alc") => match read::<AllocationId>(id) {
            Some(id) => allocations::get(tx, &id)?.map(|row| row.tenant_id),
            None => None,
        },
        Some("wkl") => match read::<WorkloadId>(id) {
            Some(id) => workloads::get(tx, &id)?.map(|row| row.tenant_id),
            None => None,
        },
        Some("opn") => match read::<OperationId>(id) {
            Some(id) => operations::get(tx, &id)?.and_then(|row| row.tenant_id),
            None => None,
        },
        Some("tok") => match read::<TokenId>(id) {
            Some(id) => tokens::get(tx, &id)?.and_then(|row| row.tenant_id),
            None => None,
        },
        Some("mbr") => match read::<MemberId>(id) {
            Some(id) => members::get(tx, &id)?.map(|row| row.tenant_id),
            None => None,
        },
        _ => None,
    })
}

// Everything in a text that has the form of an id: three letters, an underscore, 26 letters and digits.
fn ids(text: &[u8]) -> impl Iterator<Item = &str> {
    const LETTERS: usize = 26;
    let plain = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let marks = text.iter().enumerate().filter(|(_, byte)| **byte == b'_').map(|(at, _)| at);
    marks.filter_map(move |at| {
        let id = text.get(at.checked_sub(3)?..at + 1 + LETTERS)?;
        let shaped = plain(&id[..3]) && plain(&id[4..]);
        std::str::from_utf8(id).ok().filter(|_| shaped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_wherever_they_stand() {
        let text =
            br#"{"id":"alc_01jh2n6f4zw8q9r0s1t2v3x4y5","gpu_count":1,"a":"/x/prj_01jh2n6f4zw8q9r0s1t2v3x4y6/y"}"#;
        let found: Vec<_> = ids(text).collect();
        assert_eq!(found, ["alc_01jh2n6f4zw8q9r0s1t2v3x4y5", "prj_01jh2n6f4zw8q9r0s1t2v3x4y6"]);
        assert_eq!(ids(b"alc_01jh2n6f4z").count(), 0);
    }
}
