//! One open transaction, as use cases see it. Statements are constant texts with `$1..$n`, parameters are [`Value`]s,
//! answers are [`Row`]s.
//!
//! One rule makes both engines behave alike: **a failed statement ends the transaction**. PostgreSQL aborts it anyway;
//! on SQLite this layer refuses every later statement and rolls back, even when the closure answers `Ok`. To try
//! something that may break a rule of the schema, use `ON CONFLICT DO NOTHING`, or [`Tx::savepoint`], which undoes the
//! failed part alone. A count of changed rows other than expected is not a failed statement.

use crate::{Dialect, Row, StoreError, Value, bulk::Batch};

/// Words that steer a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    BeginWrite,
    /// Begins a write transaction that several closures share.
    BeginShared,
    BeginRead,
    Commit,
    Rollback,
    Savepoint,
    Release,
    Undo,
}

impl Control {
    /// The text for one engine.
    pub(crate) const fn text(self, dialect: Dialect) -> &'static str {
        match self {
            Self::BeginWrite => dialect.begin_write(),
            Self::BeginShared => dialect.begin_shared(),
            Self::BeginRead => dialect.begin_read(),
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::Savepoint => "SAVEPOINT s",
            Self::Release => "RELEASE SAVEPOINT s",
            Self::Undo => "ROLLBACK TO SAVEPOINT s",
        }
    }
}

/// A statement that did not succeed, with what that means for the transaction around it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) error: StoreError,
    /// The whole closure may run again: it lost a race, not an argument.
    pub(crate) again: bool,
    /// The transaction is gone with everything in it (connection lost, or rolled back by the engine).
    pub(crate) gone: bool,
}

impl Fault {
    pub(crate) fn plain(error: StoreError) -> Self {
        Self { error, again: false, gone: false }
    }
}

/// A statement with its parameters.
pub type Ask = (&'static str, Vec<Value>);

/// One connection of one engine.
pub(crate) trait Session {
    fn dialect(&self) -> Dialect;
    fn query(&mut self, sql: &'static str, params: &[Value]) -> Result<Vec<Row>, Fault>;
    /// Several statements, asked in order without waiting for an answer in between.
    fn query_each(&mut self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Fault>;
    fn execute(&mut self, sql: &'static str, params: &[Value]) -> Result<u64, Fault>;
    fn bulk(&mut self, batch: &Batch) -> Result<u64, Fault>;
    /// Changes exactly one row; the session may wait with it until the next statement or [`Session::flush`], and tell
    /// of a failure only then.
    fn post(&mut self, sql: &'static str, params: &[Value]) -> Result<(), Fault>;
    /// Changes exactly one row for each row of the batch, told of as with [`Session::post`].
    fn post_bulk(&mut self, batch: &Batch) -> Result<(), Fault>;
    /// Waits until everything posted has been answered.
    fn flush(&mut self) -> Result<(), Fault>;
    fn control(&mut self, word: Control) -> Result<(), Fault>;
    /// Runs schema statements, for migrations only.
    fn script(&mut self, text: &str) -> Result<(), Fault>;
}

/// An open transaction. It ends when the closure that got it returns.
pub struct Tx<'a> {
    session: &'a mut dyn Session,
    writable: bool,
    touched: bool,
    fault: Option<Fault>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(session: &'a mut dyn Session, writable: bool) -> Self {
        Self { session, writable, touched: false, fault: None }
    }

    /// The first failed statement, if there was one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether a statement may have changed something, or failed.
    pub(crate) fn touched(&self) -> bool {
        self.touched || self.fault.is_some()
    }

    /// Waits for what was posted; a failure is noted like any other.
    pub(crate) fn flush(&mut self) {
        if self.fault.is_none() {
            let answer = self.session.flush();
            let _ = self.note(answer);
        }
    }

    /// Which engine this runs on, for the lock macros.
    pub fn dialect(&self) -> Dialect {
        self.session.dialect()
    }

    /// All rows of a SELECT, or of a change with RETURNING.
    pub fn query(&mut self, sql: &'static str, params: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.admit(params)?;
        self.touched |= !sql.trim_start().starts_with("SELECT");
        let answer = self.session.query(sql, params);
        self.note(answer)
    }

    /// The rows of several SELECTs, in order. On PostgreSQL they travel together, which saves waiting.
    pub fn query_each(&mut self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, StoreError> {
        for (_, params) in asks {
            self.admit(params)?;
        }
        let answer = self.session.query_each(asks);
        self.note(answer)
    }

    /// The first row, if any.
    pub fn query_opt(&mut self, sql: &'static str, params: &[Value]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// The first row; [`StoreError::NotFound`] when there is none.
    pub fn query_one(&mut self, sql: &'static str, params: &[Value]) -> Result<Row, StoreError> {
        self.query_opt(sql, params)?.ok_or(StoreError::NotFound)
    }

    /// Changes rows and says how many.
    pub fn execute(&mut self, sql: &'static str, params: &[Value]) -> Result<u64, StoreError> {
        self.admit_change()?;
        self.admit(params)?;
        let answer = self.session.execute(sql, params);
        self.note(answer)
    }

    /// Changes exactly one row; [`StoreError::StaleVersion`] when it was none or several.
    pub fn execute_one(&mut self, sql: &'static str, params: &[Value]) -> Result<(), StoreError> {
        match self.execute(sql, params)? {
            1 => Ok(()),
            _ => Err(StoreError::StaleVersion),
        }
    }

    /// Like [`Tx::execute_one`] for rows whose refusal nobody handles: events, audit entries, decisions, kept answers. The
    /// statement may travel with the next one (on PostgreSQL this saves a round trip), so a failure may be told by a
    /// later call or as the answer of the whole. Unlike with `execute_one`, not exactly one row is a failed statement.
    pub fn post(&mut self, sql: &'static str, params: &[Value]) -> Result<(), StoreError> {
        self.admit_change()?;
        self.admit(params)?;
        let answer = self.session.post(sql, params);
        self.note(answer)
    }

    /// Runs one catalogue statement for every row of the batch and says how many rows it changed in all.
    pub fn execute_bulk(&mut self, batch: &Batch) -> Result<u64, StoreError> {
        self.admit_change()?;
        self.admit(batch.values())?;
        if batch.is_empty() {
            return Ok(0);
        }
        let answer = self.session.bulk(batch);
        self.note(answer)
    }

    /// Like [`Tx::post`] for every row of the batch: each changes exactly one row, or the transaction has failed.
    pub fn post_bulk(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.admit_change()?;
        self.admit(batch.values())?;
        if batch.is_empty() {
            return Ok(());
        }
        let answer = self.session.post_bulk(batch);
        self.note(answer)
    }

    /// Runs a part that may fail alone: when it answers an error, or one of its statements failed, its changes are
    /// undone and the transaction goes on. A lost race or connection still ends the whole.
    pub fn savepoint<T, E: From<StoreError>>(
        &mut self,
        part: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.admit(&[])?;
        self.control(Control::Savepoint)?;
        let answer = part(self);
        if answer.is_ok() {
            self.flush();
        }
        let fault = self.fault.take();
        match (answer, fault) {
            (Ok(value), None) => {
                self.control(Control::Release)?;
                Ok(value)
            }
            (answer, Some(fault)) if fault.again || fault.gone => {
                let error = fault.error.clone();
                self.fault = Some(fault);
                answer.and(Err(error.into()))
            }
            (answer, fault) => {
                self.control(Control::Undo)?;
                self.control(Control::Release)?;
                match fault {
                    Some(fault) => answer.and(Err(fault.error.into())),
                    None => answer,
                }
            }
        }
    }

    fn control(&mut self, word: Control) -> Result<(), StoreError> {
        let answer = self.session.control(word);
        self.note(answer)
    }

    fn admit(&self, params: &[Value]) -> Result<(), StoreError> {
        if let Some(fault) = &self.fault {
            return Err(fault.error.clone());
        }
        let has_nul = |value: &Value| matches!(value, Value::Text(text) if text.as_bytes().contains(&0));
        if params.iter().any(has_nul) { Err(StoreError::NulCharacter) } else { Ok(()) }
    }

    fn admit_change(&mut self) -> Result<(), StoreError> {
        self.touched = true;
        if self.writable { Ok(()) } else { Err(StoreError::Other("a change in a read transaction".into())) }
    }

    fn note<T>(&mut self, answer: Result<T, Fault>) -> Result<T, StoreError> {
        answer.map_err(|fault| {
            let error = fault.error.clone();
            self.fault = Some(fault);
            error
        })
    }
}
