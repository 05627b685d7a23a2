//! The server engine: PostgreSQL 15 or later through tokio-postgres. Every connection lives on a thread of its own with a
//! runtime of its own, so that a round trip wakes nobody else; prepared statements are kept per connection.
//!
//! **Isolation.** Writes run READ COMMITTED. What must not race is guarded by constraints, explicit row locks and
//! compare-and-swap on versions, all of which READ COMMITTED honours; serializable transactions are not relied upon.
//! Reads run REPEATABLE READ, READ ONLY: one snapshot for the whole closure.
//!
//! **Round trips.** BEGIN, SAVEPOINT, RELEASE and posted statements are sent together with the next statement that needs
//! an answer. A closure that reads r times, changes c times and posts any number costs r + c round trips, one more for
//! what it posted last, and COMMIT.
//!
//! Refuses: servers before 15, standbys (the primary alone decides), databases that are not UTF-8, and TLS modes that
//! demand TLS, which this build does not speak.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::poll_fn,
    pin::Pin,
    task::Poll,
    time::Duration,
};

use bytes::BytesMut;
use tokio::{runtime::Runtime, time::timeout};
use tokio_postgres::{
    Client, Config, NoTls, Statement,
    config::{SslMode, TargetSessionAttrs},
    error::{Severity, SqlState},
    types::{FromSql, IsNull, ToSql, Type, to_sql_checked},
};

use crate::{
    Dialect, Row, StoreError, Value,
    bulk::{Batch, Kind},
    run::Engine,
    tx::{Ask, Control, Fault, Session},
    value::Columns,
};

const VERSION_MIN: i64 = 150_000;
/// Longer than any statement may take on the server, so that only a lost connection reaches it.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Between two statements of a transaction there is only computing. A process that stops there (paused, swapped out, its
/// machine gone) holds row locks that the others wait for, the leader's lease among them, so it must not stop there long.
///
/// What this store asks is a few rows by key. The server's own price for that is one of turning disks, at which it reads whole
/// tables instead.
const SETTINGS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '2s'; \
    SET idle_in_transaction_session_timeout = '5s'; SET random_page_cost = 1.1; SET default_transaction_isolation = 'read committed'";

type BoxedError = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) if <&str as ToSql>::accepts(ty) => text.as_str().to_sql(ty, out),
            Self::Int(number) if *ty == Type::INT8 => number.to_sql(ty, out),
            Self::Int(number) if *ty == Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
            other => Err(format!("{other:?} given where the statement wants {ty}").into()),
        }
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        match *ty {
            Type::INT8 => i64::from_sql(ty, raw).map(Self::Int),
            Type::INT4 => i32::from_sql(ty, raw).map(Self::from),
            Type::INT2 => i16::from_sql(ty, raw).map(|number| Self::Int(i64::from(number))),
            Type::BOOL => bool::from_sql(ty, raw).map(Self::from),
            Type::VOID => Ok(Self::Null),
            _ => <&str>::from_sql(ty, raw).map(Self::from),
        }
    }
    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Self::Null)
    }
    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::INT4 | Type::INT2 | Type::BOOL | Type::VOID) || <&str as FromSql>::accepts(ty)
    }
}

/// A statement known to one connection.
#[derive(Clone)]
struct Prepared {
    statement: Statement,
    columns: Columns,
}

struct Live {
    client: Client,
    statements: HashMap<(usize, usize), Prepared>,
    bulk: HashMap<usize, Statement>,
}

/// Something the server has not been told yet; it goes with the next exchange.
enum Unsent {
    Word(&'static str),
    Post(Statement, Vec<Value>),
    /// One array for each column, and how many rows they are.
    Many(Statement, Vec<Array>, usize),
}

/// One column of a batch.
type Array = Box<dyn ToSql + Sync + Send>;

/// How much may wait to be sent.
const UNSENT_MAX: usize = 512;

/// One PostgreSQL connection, made when it is first needed and again after a loss.
pub(crate) struct PostgresSession {
    runtime: Runtime,
    address: Config,
    live: Option<Live>,
    unsent: Vec<Unsent>,
    /// For every open savepoint, where in `unsent` it stands if the server has not heard of it.
    saves: Vec<Option<usize>>,
    /// Whether the server has an open transaction of ours.
    begun: bool,
}

impl PostgresSession {
    /// Reads and judges an address.
    pub(crate) fn address(url: &str) -> Result<Config, StoreError> {
        let mut address: Config =
            url.parse().map_err(|error| StoreError::Refused(format!("not a PostgreSQL address: {error}")))?;
        if !matches!(address.get_ssl_mode(), SslMode::Disable | SslMode::Prefer) {
            return Err(StoreError::Refused(
                "sslmode in the address demands TLS, which this build does not speak; use sslmode=disable on a \
                 trusted network or a local socket"
                    .into(),
            ));
        }
        if address.get_application_name().is_none() {
            address.application_name("gpuaas");
        }
        if address.get_connect_timeout().is_none() {
            address.connect_timeout(CONNECT_WITHIN);
        }
        address.ssl_mode(SslMode::Disable).target_session_attrs(TargetSessionAttrs::ReadWrite);
        Ok(address)
    }

    pub(crate) fn new(address: &Config) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Refused(format!("no runtime for the store: {error}")))?;
        Ok(Self { runtime, address: address.clone(), live: None, unsent: Vec::new(), saves: Vec::new(), begun: false })
    }

    fn connect(&mut self) -> Result<Live, StoreError> {
        let connected = self.runtime.block_on(async { timeout(CONNECT_WITHIN * 2, self.address.connect(NoTls)).await });
        let (client, connection) = match connected {
            Ok(Ok(pair)) => pair,
            Ok(Err(error)) => return Err(StoreError::Unavailable(explain(&error))),
            Err(_) => return Err(StoreError::Unavailable("no connection in time".into())),
        };
        // Driven whenever this thread waits for an answer; it ends with the connection and its error reaches the client.
        self.runtime.spawn(async move { drop(connection.await) });
        let live = Live { client, statements: HashMap::new(), bulk: HashMap::new() };
        self.live = Some(live);
        let judged = self.judge();
        let live = self.live.take();
        judged?;
        live.ok_or_else(|| StoreError::Unavailable("connection lost at its start".into()))
    }

    /// Checks that the server is one we can trust with a commit.
    fn judge(&mut self) -> Result<(), StoreError> {
        let rows = self.query(
            "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
                    current_setting('synchronous_commit'), current_setting('server_version')",
            &[],
        );
        let rows = rows.map_err(|fault| fault.error)?;
        let row = rows.first().ok_or(StoreError::NotFound)?;
        if row.int(0)? < VERSION_MIN {
            return Err(StoreError::Refused(format!("PostgreSQL {} is too old, 15 is needed", row.text(3)?)));
        }
        if row.text(1)? != "UTF8" {
            return Err(StoreError::Refused(format!("the database is encoded in {}, UTF8 is needed", row.text(1)?)));
        }
        self.script(SETTINGS).map_err(|fault| fault.error)?;
        if row.text(2)? == "off" {
            tracing::warn!("the server has synchronous_commit = off; turned on for this connection");
            self.script("SET synchronous_commit = on").map_err(|fault| fault.error)?;
        }
        Ok(())
    }

    /// Runs one exchange with the server, with everything unsent in front of it, and forgets the connection when it is
    /// gone.
    fn exchange<T>(&mut self, ask: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>) -> Result<T, Fault> {
        let Some(live) = &self.live else { return Err(lost("no connection")) };
        let (unsent, client) = (std::mem::take(&mut self.unsent), &live.client);
        self.begun |= !unsent.is_empty();
        self.saves.iter_mut().for_each(|save| *save = None);
        let both = async {
            if unsent.is_empty() {
                return (Ok(true), ask(client).await);
            }
            // Polled in this order: what was unsent goes out first, all answers come back together.
            tokio::join!(biased; send(client, &unsent), ask(client))
        };
        let answer = self.runtime.block_on(async { timeout(ANSWER_WITHIN, both).await });
        let closed = client.is_closed();
        let answer = match answer {
            Ok((Ok(true), Ok(value))) => return Ok(value),
            // What came after it may have failed because of it.
            Ok((Ok(false), _)) if !closed => Fault::plain(StoreError::StaleVersion),
            Ok((Err(error), _) | (Ok(_), Err(error))) => fault(&error, closed),
            Ok((Ok(false), Ok(_))) => lost("the connection was closed"),
            Err(_) => lost("no answer in time"),
        };
        if answer.gone {
            self.forget();
        }
        Err(answer)
    }

    fn flush_is_moot(&self) -> bool {
        !self.unsent.iter().any(|unsent| unsent.word().is_none())
    }

    /// Ends the transaction; a connection on which that fails is not used again.
    fn end(&mut self, text: &'static str) -> Result<(), Fault> {
        let ended = self.exchange(async |client| client.batch_execute(text).await);
        self.reset();
        if ended.is_err() {
            self.forget();
        }
        ended
    }

    fn forget(&mut self) {
        self.live = None;
        self.reset();
    }

    fn reset(&mut self) {
        self.begun = false;
        self.unsent.clear();
        self.saves.clear();
    }

    fn prepared(&mut self, sql: &'static str, params: usize) -> Result<Prepared, Fault> {
        let key = (sql.as_ptr().addr(), sql.len());
        if let Some(known) = self.live.as_ref().and_then(|live| live.statements.get(&key)) {
            return admit(known.clone(), sql, params);
        }
        let statement = self.exchange(async |client| client.prepare(sql).await)?;
        let columns = statement.columns().iter().map(|column| Box::from(column.name())).collect();
        let prepared = Prepared { statement, columns };
        if let Some(live) = &mut self.live {
            live.statements.insert(key, prepared.clone());
        }
        admit(prepared, sql, params)
    }

    fn prepared_bulk(&mut self, batch: &Batch) -> Result<Statement, Fault> {
        let key = batch.what().key();
        if let Some(known) = self.live.as_ref().and_then(|live| live.bulk.get(&key)) {
            return Ok(known.clone());
        }
        let text = batch.what().array_text();
        let statement = self.exchange(async |client| client.prepare(&text).await)?;
        if let Some(Entry::Vacant(place)) = self.live.as_mut().map(|live| live.bulk.entry(key)) {
            place.insert(statement.clone());
        }
        Ok(statement)
    }
}

/// The client panics on a wrong number of parameters; this answers instead.
fn admit(prepared: Prepared, sql: &str, params: usize) -> Result<Prepared, Fault> {
    if prepared.statement.params().len() == params {
        Ok(prepared)
    } else {
        Err(Fault::plain(StoreError::Other(format!("{params} parameters for: {sql}"))))
    }
}

fn lost(why: &str) -> Fault {
    Fault { error: StoreError::Unavailable(why.to_owned()), again: false, gone: true }
}

fn explain(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(told) => format!("{} ({})", told.message(), told.code().code()),
        None => std::error::Error::source(error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    }
}

fn fault(error: &tokio_postgres::Error, closed: bool) -> Fault {
    let Some(told) = error.as_db_error() else {
        let broken = closed
            || error.is_closed()
            || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
        return if broken { lost(&explain(error)) } else { Fault::plain(StoreError::Other(explain(error))) };
    };
    let rule = || told.constraint().unwrap_or("unnamed").to_owned();
    let code = told.code();
    let error = match code {
        code if *code == SqlState::UNIQUE_VIOLATION => StoreError::UniqueViolation { constraint: rule() },
        code if *code == SqlState::FOREIGN_KEY_VIOLATION => StoreError::ForeignKeyViolation,
        code if *code == SqlState::CHECK_VIOLATION => StoreError::CheckViolation { constraint: rule() },
        code if *code == SqlState::NOT_NULL_VIOLATION => StoreError::CheckViolation {
            constraint: format!("{}.{}", told.table().unwrap_or("?"), told.column().unwrap_or("?")),
        },
        code if *code == SqlState::T_R_SERIALIZATION_FAILURE
            || *code == SqlState::T_R_DEADLOCK_DETECTED
            || *code == SqlState::LOCK_NOT_AVAILABLE =>
        {
            StoreError::Busy
        }
        // 53 resources, 57 operator intervention, 58 system, 08 connection, 25006 a standby
        code if ["53", "57", "58", "08"].contains(&code.code().get(..2).unwrap_or(""))
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION =>
        {
            StoreError::Unavailable(explain(error))
        }
        _ => StoreError::Other(explain(error)),
    };
    // After a schema change elsewhere the plans of this connection are worthless; a new connection has none.
    let stale_plan = *code == SqlState::FEATURE_NOT_SUPPORTED && told.message().contains("cached plan");
    let hung_up = matches!(told.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    Fault { again: error == StoreError::Busy, gone: closed || hung_up || stale_plan, error }
}

impl Session for PostgresSession {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn query(&mut self, sql: &'static str, params: &[Value]) -> Result<Vec<Row>, Fault> {
        let Prepared { statement, columns } = self.prepared(sql, params.len())?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
        let rows = self.exchange(async |client| client.query(&statement, &params).await)?;
        read_rows(&columns, rows)
    }

    fn query_each(&mut self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Fault> {
        let prepare = |(sql, params): &Ask| self.prepared(sql, params.len());
        let prepared = asks.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        let answers = self.exchange(async |client| {
            let ask = |(known, (_, params)): (&Prepared, &Ask)| {
                let statement = known.statement.clone();
                let params: Vec<Value> = params.clone();
                async move {
                    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
                    client.query(&statement, &params).await
                }
            };
            // The first look at each sends it, in order.
            futures::future::try_join_all(prepared.iter().zip(asks).map(ask)).await
        })?;
        prepared.iter().zip(answers).map(|(known, rows)| read_rows(&known.columns, rows)).collect()
    }

    fn execute(&mut self, sql: &'static str, params: &[Value]) -> Result<u64, Fault> {
        let Prepared { statement, .. } = self.prepared(sql, params.len())?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
        self.exchange(async |client| client.execute(&statement, &params).await)
    }

    fn bulk(&mut self, batch: &Batch) -> Result<u64, Fault> {
        let statement = self.prepared_bulk(batch)?;
        let arrays = arrays(batch);
        self.exchange(async |client| client.execute_raw(&statement, borrowed(&arrays)).await)
    }

    fn post(&mut self, sql: &'static str, params: &[Value]) -> Result<(), Fault> {
        let Prepared { statement, .. } = self.prepared(sql, params.len())?;
        self.unsent.push(Unsent::Post(statement, params.to_vec()));
        if self.unsent.len() < UNSENT_MAX { Ok(()) } else { self.flush() }
    }

    fn post_bulk(&mut self, batch: &Batch) -> Result<(), Fault> {
        let statement = self.prepared_bulk(batch)?;
        self.unsent.push(Unsent::Many(statement, arrays(batch), batch.len()));
        if self.unsent.len() < UNSENT_MAX { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        if self.flush_is_moot() { Ok(()) } else { self.exchange(async |_| Ok(())) }
    }

    fn control(&mut self, word: Control) -> Result<(), Fault> {
        let text = word.text(Dialect::Postgres);
        match word {
            Control::BeginWrite | Control::BeginShared | Control::BeginRead => {
                self.reset();
                self.unsent.push(Unsent::Word(text));
            }
            Control::Savepoint => {
                self.saves.push(Some(self.unsent.len()));
                self.unsent.push(Unsent::Word(text));
            }
            Control::Release => {
                self.saves.pop();
                self.unsent.push(Unsent::Word(text));
            }
            // What the server has not heard need not be undone.
            Control::Undo => match self.saves.last() {
                Some(Some(at)) => self.unsent.truncate(at + 1),
                Some(None) | None => {
                    self.unsent.clear();
                    self.unsent.push(Unsent::Word(text));
                }
            },
            // A transaction that the server never heard of needs no end.
            Control::Rollback if !self.begun => self.reset(),
            Control::Commit if !self.begun && self.flush_is_moot() => self.reset(),
            Control::Rollback => {
                self.unsent.clear();
                return self.end(text);
            }
            Control::Commit => return self.end(text),
        }
        Ok(())
    }

    fn script(&mut self, text: &str) -> Result<(), Fault> {
        self.exchange(async |client| client.batch_execute(text).await)
    }
}

fn read_rows(columns: &Columns, rows: Vec<tokio_postgres::Row>) -> Result<Vec<Row>, Fault> {
    let mut answer = Vec::with_capacity(rows.len());
    for row in rows {
        let mut cells = Vec::with_capacity(columns.len());
        for at in 0..columns.len() {
            let cell = row.try_get::<_, Value>(at);
            cells.push(cell.map_err(|error| Fault::plain(StoreError::Other(explain(&error))))?);
        }
        answer.push(Row::new(Columns::clone(columns), cells));
    }
    Ok(answer)
}

fn arrays(batch: &Batch) -> Vec<Array> {
    let array = |(at, (_, kind)): (usize, crate::bulk::Column)| -> Array {
        // The batch has checked the kinds of its values.
        let column = batch.rows().map(|row| &row[at]);
        match kind {
            Kind::Text => Box::new(column.map(|value| value.as_text().map(str::to_owned)).collect::<Vec<_>>()),
            Kind::Int => Box::new(column.map(Value::as_int).collect::<Vec<_>>()),
        }
    };
    batch.what().columns().enumerate().map(array).collect()
}

fn borrowed(arrays: &[Array]) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
    arrays.iter().map(|array| array.as_ref() as _)
}

/// Sends everything in order without waiting in between. True when every posted statement changed exactly as many rows as
/// it should.
async fn send(client: &Client, unsent: &[Unsent]) -> Result<bool, tokio_postgres::Error> {
    type Answer<'a> = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + 'a>>;
    let mut answers: Vec<(Answer<'_>, u64)> = Vec::with_capacity(unsent.len());
    let mut at = 0;
    while at < unsent.len() {
        let words: Vec<&str> = unsent[at..].iter().map_while(Unsent::word).collect();
        at += words.len();
        if !words.is_empty() {
            let words = words.join("; ");
            answers.push((Box::pin(async move { client.batch_execute(&words).await.map(|()| 0) }), 0));
        }
        match unsent.get(at) {
            Some(Unsent::Post(statement, params)) => {
                answers.push((Box::pin(client.execute_raw(statement, params)), 1));
                at += 1;
            }
            Some(Unsent::Many(statement, arrays, rows)) => {
                let sent = client.execute_raw(statement, borrowed(arrays));
                answers.push((Box::pin(sent), u64::try_from(*rows).unwrap_or(u64::MAX)));
                at += 1;
            }
            Some(Unsent::Word(_)) | None => (),
        }
    }
    let (mut started, mut next, mut as_expected) = (false, 0, true);
    poll_fn(move |context| {
        // The first look at each sends it, in order; answers come in the same order, so later the first suffices.
        let mut early = Vec::new();
        if !std::mem::replace(&mut started, true) {
            early = answers.iter_mut().map(|(answer, _)| answer.as_mut().poll(context)).collect();
        }
        while next < answers.len() {
            let answer = match early.get_mut(next) {
                Some(early) => std::mem::replace(early, Poll::Pending),
                None => answers[next].0.as_mut().poll(context),
            };
            match answer {
                Poll::Ready(Ok(rows)) => as_expected &= rows == answers[next].1,
                Poll::Ready(Err(error)) if as_expected || client.is_closed() => return Poll::Ready(Err(error)),
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(false)),
                Poll::Pending => return Poll::Pending,
            }
            next += 1;
        }
        Poll::Ready(Ok(as_expected))
    })
    .await
}

impl Unsent {
    fn word(&self) -> Option<&'static str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Post(..) | Self::Many(..) => None,
        }
    }
}

impl Engine for PostgresSession {
    fn restore(&mut self) -> Result<(), StoreError> {
        if self.live.as_ref().is_some_and(|live| !live.client.is_closed()) {
            return Ok(());
        }
        self.forget();
        self.live = Some(self.connect()?);
        Ok(())
    }

    fn undoes_parts(&self) -> bool {
        false
    }

    fn distrust(&mut self) -> bool {
        self.forget();
        false
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_demands_tls_is_refused_with_advice() {
        for mode in ["require", "verify-ca", "verify-full"] {
            let error = PostgresSession::address(&format!("postgres://db/gpuaas?sslmode={mode}")).unwrap_err();
            assert!(matches!(&error, StoreError::Refused(_)), "{mode}: {error}");
        }
        assert!(PostgresSession::address("postgres://db/gpuaas?sslmode=disable").is_ok());
        assert!(PostgresSession::address("postgres://db:notaport/gpuaas").is_err());
    }
}
