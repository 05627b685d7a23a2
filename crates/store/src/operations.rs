//! Operations: long work that a request started, for its caller to follow. An operation says which states of its
//! subject end it well or badly; it is finished in the transaction in which the subject enters such a state, so the two
//! never disagree.

use model::event::Noun;
use model::operation::OperationState;
use model::{OperationId, PrincipalId, ProjectId, TenantId, Timestamp};

use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// Its id.
    pub id: OperationId,
    /// What was asked for, such as `allocation.launch`.
    pub kind: String,
    /// What kind of thing it is about.
    pub noun: Noun,
    /// Which one.
    pub subject_id: String,
    /// Whose that is.
    pub tenant_id: Option<TenantId>,
    /// In which project.
    pub project_id: Option<ProjectId>,
    /// Who asked.
    pub created_by: PrincipalId,
    /// Where it stands.
    pub state: OperationState,
    /// States of the subject that end it well.
    pub succeeds_in: Vec<String>,
    /// States of the subject that end it badly.
    pub fails_in: Vec<String>,
    /// How it ended, as JSON.
    pub result: Option<String>,
    /// When it was started.
    pub created: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// The state its subject is in, while it runs.
    pub subject_state: Option<String>,
}

/// An operation to record.
#[derive(Debug, Clone, Copy)]
pub struct OperationNew<'a> {
    /// Its id.
    pub id: &'a OperationId,
    /// What was asked for.
    pub kind: &'a str,
    /// What kind of thing it is about.
    pub noun: Noun,
    /// Which one.
    pub subject_id: &'a str,
    /// Whose that is.
    pub tenant_id: Option<&'a TenantId>,
    /// In which project.
    pub project_id: Option<&'a ProjectId>,
    /// Who asked.
    pub created_by: &'a PrincipalId,
    /// States of the subject that end it well.
    pub succeeds_in: &'a [&'a str],
    /// States of the subject that end it badly.
    pub fails_in: &'a [&'a str],
}

macro_rules! selected {
    () => {
        "SELECT o.id, o.kind, o.noun, o.subject_id, o.tenant_id, o.project_id, o.created_by, o.state, o.succeeds_in, \
         o.fails_in, o.result, o.created_us, o.finished_us, CASE WHEN o.state <> 'running' THEN NULL \
         WHEN o.noun = 'allocation' THEN (SELECT a.state FROM allocations a WHERE a.id = o.subject_id) \
         WHEN o.noun = 'project' THEN (SELECT p.state FROM projects p WHERE p.id = o.subject_id) \
         WHEN o.noun = 'task' THEN (SELECT k.state FROM node_tasks k WHERE k.id = o.subject_id) \
         WHEN o.noun = 'tenant' THEN (SELECT t.state FROM tenants t WHERE t.id = o.subject_id) END FROM operations o"
    };
}
// Whoever asked may follow; so may everybody who sees what the operation is about.
macro_rules! opened {
    ($who:literal, $only:literal) => {
        concat!(
            "((o.created_by = ",
            $who,
            " AND (CAST(",
            $only,
            " AS TEXT) IS NULL OR o.project_id = ",
            $only,
            " OR o.tenant_id = ",
            $only,
            ")) OR (",
            opened_by_membership!("o.tenant_id", "o.project_id", $who, $only),
            "))"
        )
    };
}
macro_rules! listed {
    () => {
        concat!(
            selected!(),
            " WHERE o.id > $1 AND (CAST($3 AS TEXT) IS NULL OR o.tenant_id = $3) ",
            "AND (CAST($4 AS TEXT) IS NULL OR o.subject_id = $4)"
        )
    };
}

const INSERT: &str = "INSERT INTO operations (id, kind, noun, subject_id, tenant_id, project_id, created_by, state, \
    succeeds_in, fails_in, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', $8, $9, $10)";
const GET: &str = concat!(selected!(), " WHERE o.id = $1");
const GET_SCOPED: &str = concat!(selected!(), " WHERE o.id = $1 AND ", opened!("$2", "$3"));
const LIST: &str = concat!(listed!(), " ORDER BY o.id LIMIT $2");
const LIST_SCOPED: &str = concat!(listed!(), " AND ", opened!("$5", "$6"), " ORDER BY o.id LIMIT $2");
const RUNNING: &str = concat!(selected!(), " WHERE o.subject_id = $1 AND o.state = 'running' ORDER BY o.id");
/// The subjects among many with a running operation that a state ends; most states end nothing.
pub(crate) const ENDING: &str = "SELECT o.subject_id FROM operations o WHERE o.state = 'running' \
    AND o.subject_id IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given) \
    AND (' ' || o.succeeds_in || ' ' LIKE $2 OR ' ' || o.fails_in || ' ' LIKE $2)";
const FINISH: &str = "UPDATE operations SET state = $2, result = $3, finished_us = $4 \
    WHERE id = $1 AND state = 'running'";

fn read(row: &Row) -> Result<OperationRow, StoreError> {
    let words = |at: usize| Ok::<_, StoreError>(row.text(at)?.split_whitespace().map(str::to_owned).collect());
    Ok(OperationRow {
        id: row.parse(0)?,
        kind: row.text(1)?.to_owned(),
        noun: row.parse(2)?,
        subject_id: row.text(3)?.to_owned(),
        tenant_id: row.opt_parse(4)?,
        project_id: row.opt_parse(5)?,
        created_by: row.parse(6)?,
        state: row.parse(7)?,
        succeeds_in: words(8)?,
        fails_in: words(9)?,
        result: row.opt_text(10)?.map(str::to_owned),
        created: row.timestamp(11)?,
        finished: row.opt_timestamp(12)?,
        subject_state: row.opt_text(13)?.map(str::to_owned),
    })
}

/// Records a running operation.
pub fn insert(tx: &mut Tx<'_>, new: OperationNew<'_>, now: Timestamp) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.kind.into(),
        new.noun.as_str().into(),
        new.subject_id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.created_by.into(),
        new.succeeds_in.join(" ").into(),
        new.fails_in.join(" ").into(),
        now.into(),
    ];
    tx.execute(INSERT, &params)?;
    Ok(())
}

/// One operation, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &OperationId) -> Result<Option<OperationRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One operation, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &OperationId) -> Result<Option<OperationRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// Operations in id order, of one tenant and about one subject where given.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    tenant_id: Option<&TenantId>,
    subject_id: Option<&str>,
    page: Page<'_>,
) -> Result<Vec<OperationRow>, StoreError> {
    let params = vec![page.after.into(), page.rows().into(), tenant_id.into(), subject_id.into()];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Finishes the running operations about a subject that enters `state`, where that state ends them. Call it in the
/// transaction that enters the state. Answers what was finished.
pub fn finish_for(
    tx: &mut Tx<'_>,
    subject_id: &str,
    state: &str,
    result: Option<&str>,
    now: Timestamp,
) -> Result<Vec<OperationId>, StoreError> {
    let mut finished = Vec::new();
    for row in &tx.query(RUNNING, &[subject_id.into()])? {
        let operation = read(row)?;
        let end = if operation.succeeds_in.iter().any(|word| word == state) {
            OperationState::Succeeded
        } else if operation.fails_in.iter().any(|word| word == state) {
            OperationState::Failed
        } else {
            continue;
        };
        let params = [(&operation.id).into(), end.as_str().into(), result.into(), now.into()];
        if tx.execute(FINISH, &params)? == 1 {
            finished.push(operation.id);
        }
    }
    Ok(finished)
}
