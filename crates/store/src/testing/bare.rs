//! What a bare driver does with the rows that placement writes: no engine, no checks, no layer, only the statements and the
//! same durability. The bench holds the applier against it. The rows are read from a store in which placement has been,
//! so they are the same to the letter.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, params_from_iter, types::ToSqlOutput};
use tokio_postgres::{Client, NoTls, Statement, types::ToSql};

use crate::{Row, StoreError, Tx, Value, bulk::Kind};

/// One statement and what it is given for each row: keys and guards first, then what is set.
struct Shape {
    table: &'static str,
    /// An update finds its row by these; an insert has none.
    finds: &'static [(&'static str, Kind)],
    sets: &'static [(&'static str, Kind)],
    also: &'static str,
    read: &'static str,
}

const T: Kind = Kind::Text;
const I: Kind = Kind::Int;

// In the order in which placement writes them. `read` answers the allocation, then the values of one row. Guards are what the
// row was before: one version less, and the state it came from.
const SHAPES: &[Shape] = &[
    Shape {
        table: "node_resource_slots",
        finds: &[("id", T), ("version", I), ("state", T)],
        sets: &[("state", T), ("state_since_us", I)],
        also: ", look_us = NULL, use_generation = use_generation + 1, wipe_nonce = NULL, wait_code = NULL, wait_because = NULL, \
               wait_source = NULL, wait_until_us = NULL, faults = 0, last_fault = NULL, version = version + 1",
        read: "SELECT c.allocation_id, s.id, s.version - 1, 'available', s.state, s.state_since_us \
               FROM node_resource_slots s JOIN allocation_resource_claims c ON c.node_id = s.node_id \
               AND (c.slot_id = s.id OR c.slot_id IS NULL) \
               WHERE c.active_mode IS NOT NULL ORDER BY c.allocation_id, s.id",
    },
    Shape {
        table: "nodes",
        finds: &[("id", T), ("version", I)],
        sets: &[("use_generation", I)],
        also: ", version = version + 1",
        read: "SELECT c.allocation_id, n.id, n.version - 1, n.use_generation FROM nodes n \
               JOIN allocation_resource_claims c ON c.node_id = n.id AND c.kind = 'node_exclusive' ORDER BY c.allocation_id",
    },
    Shape {
        table: "node_occupancy",
        finds: &[("node_id", T), ("mode", T)],
        sets: &[("mode", T)],
        also: "",
        read: "SELECT MIN(c.allocation_id), o.node_id, 'free', o.mode FROM node_occupancy o \
               JOIN allocation_resource_claims c ON c.node_id = o.node_id AND c.active_mode IS NOT NULL GROUP BY o.node_id, o.mode ORDER BY 1",
    },
    Shape {
        table: "allocation_resource_claims",
        finds: &[],
        sets: &[
            ("id", T),
            ("allocation_id", T),
            ("node_id", T),
            ("slot_id", T),
            ("kind", T),
            ("active_mode", T),
            ("fence", I),
            ("claimed_us", I),
            ("snapshot", T),
        ],
        also: "",
        read: "SELECT c.allocation_id, c.id, c.allocation_id, c.node_id, c.slot_id, c.kind, c.active_mode, c.fence, \
               c.claimed_us, c.snapshot FROM allocation_resource_claims c WHERE c.active_mode IS NOT NULL \
               ORDER BY c.allocation_id, c.id",
    },
    Shape {
        table: "allocations",
        finds: &[("id", T), ("version", I)],
        sets: &[("state", T), ("node_id", T), ("state_since_us", I), ("look_us", I)],
        also: ", wait_code = NULL, wait_because = NULL, wait_source = NULL, wait_until_us = NULL, faults = 0, \
               last_fault = NULL, version = version + 1",
        read: "SELECT a.id, a.id, a.version - 1, a.state, a.node_id, a.state_since_us, a.look_us FROM allocations a \
               WHERE a.state = 'reserved' ORDER BY a.id",
    },
    Shape {
        table: "decisions",
        finds: &[],
        sets: &[("id", T), ("subject_id", T), ("outcome", T), ("body", T), ("snapshot_version", I), ("at_us", I)],
        also: "",
        read: "SELECT d.subject_id, d.id, d.subject_id, d.outcome, d.body, d.snapshot_version, d.at_us FROM decisions d \
               WHERE d.outcome = 'placed' AND d.at_us > 1 ORDER BY d.subject_id",
    },
    Shape {
        table: "audit",
        finds: &[],
        sets: &[
            ("id", T),
            ("actor", T),
            ("action", T),
            ("subject", T),
            ("tenant_id", T),
            ("request_id", T),
            ("body", T),
            ("at_us", I),
        ],
        also: "",
        read: "SELECT u.subject, u.id, u.actor, u.action, u.subject, u.tenant_id, u.request_id, u.body, u.at_us \
               FROM audit u WHERE u.action = 'allocation_place' ORDER BY u.subject",
    },
    Shape {
        table: "events",
        finds: &[],
        sets: &[
            ("id", T),
            ("noun", T),
            ("change", T),
            ("subject_id", T),
            ("object_version", I),
            ("tenant_id", T),
            ("project_id", T),
            ("state_from", T),
            ("state_to", T),
            ("reason", T),
            ("at_us", I),
        ],
        also: "",
        read: "SELECT c.allocation_id, e.id, e.noun, e.change, e.subject_id, e.object_version, e.tenant_id, e.project_id, \
               e.state_from, e.state_to, e.reason, e.at_us FROM events e JOIN (SELECT DISTINCT allocation_id, \
               allocation_id AS subject_id FROM allocation_resource_claims WHERE active_mode IS NOT NULL UNION ALL \
               SELECT DISTINCT allocation_id, slot_id FROM allocation_resource_claims WHERE active_mode = 'sliced' UNION ALL SELECT x.allocation_id, x.node_id \
               FROM allocation_resource_claims x WHERE x.slot_id IS NULL UNION ALL SELECT x.allocation_id, s.id \
               FROM allocation_resource_claims x JOIN node_resource_slots s ON s.node_id = x.node_id \
               WHERE x.slot_id IS NULL) AS c ON c.subject_id = e.subject_id ORDER BY c.allocation_id, e.id",
    },
];

impl Shape {
    fn columns(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.finds.iter().chain(self.sets).copied()
    }

    fn text(&self, mark: impl Fn(usize) -> String, from: &str) -> String {
        let width = self.finds.len() + self.sets.len();
        if self.finds.is_empty() {
            let names: Vec<&str> = self.sets.iter().map(|(name, _)| *name).collect();
            let marks: Vec<String> = (1..=width).map(&mark).collect();
            let rows =
                if from.is_empty() { format!("VALUES ({})", marks.join(", ")) } else { format!("SELECT *{from}") };
            return format!("INSERT INTO {} ({}) {rows}", self.table, names.join(", "));
        }
        let set = |(at, (name, _)): (usize, &(&str, Kind))| format!("{name} = {}", mark(self.finds.len() + at + 1));
        let find = |(at, (name, _)): (usize, &(&str, Kind))| format!("{}.{name} = {}", self.table, mark(at + 1));
        let sets: Vec<String> = self.sets.iter().enumerate().map(set).collect();
        let finds: Vec<String> = self.finds.iter().enumerate().map(find).collect();
        format!("UPDATE {} SET {}{}{from} WHERE {}", self.table, sets.join(", "), self.also, finds.join(" AND "))
    }

    fn array_text(&self) -> String {
        let array = |kind: Kind| if kind == Kind::Text { "text[]" } else { "bigint[]" };
        let arrays: Vec<String> =
            self.columns().enumerate().map(|(at, (_, kind))| format!("${}::{}", at + 1, array(kind))).collect();
        let names: Vec<String> = (1..=arrays.len()).map(|at| format!("a{at}")).collect();
        let from = format!(" FROM UNNEST({}) AS u ({})", arrays.join(", "), names.join(", "));
        self.text(|at| format!("u.a{at}"), &from)
    }
}

/// The rows of one placement, by statement.
#[derive(Debug, Clone, Default)]
struct One([Vec<Vec<Value>>; SHAPES.len()]);

/// The rows that placement wrote, in the order of its allocations.
#[derive(Debug, Clone, Default)]
pub struct PlacedRows(Vec<One>);

impl PlacedRows {
    /// How many placements they are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads what placement wrote into a store in which nothing else has moved yet.
pub fn placed_rows(tx: &mut Tx<'_>) -> Result<PlacedRows, StoreError> {
    let mut all: BTreeMap<String, One> = BTreeMap::new();
    for (at, shape) in SHAPES.iter().enumerate() {
        let width = shape.finds.len() + shape.sets.len();
        for row in &tx.query(shape.read, &[])? {
            let values = (1..=width).map(|column| row.value(column).cloned()).collect::<Result<_, _>>()?;
            all.entry(subject(row)?).or_default().0[at].push(values);
        }
    }
    Ok(PlacedRows(all.into_values().collect()))
}

fn subject(row: &Row) -> Result<String, StoreError> {
    Ok(row.text(0)?.to_owned())
}

const UNDONE: &[&str] = &[
    "DELETE FROM allocation_resource_claims WHERE active_mode IS NOT NULL",
    "DELETE FROM events WHERE at_us > 1",
    "DELETE FROM audit WHERE at_us > 1",
    "DELETE FROM decisions WHERE at_us > 1",
    "UPDATE node_occupancy SET mode = 'free' WHERE mode <> 'free'",
    "UPDATE nodes SET version = version - use_generation, use_generation = 0 WHERE use_generation > 0",
    "UPDATE node_resource_slots SET state = 'available', version = version - 1, use_generation = use_generation - 1, \
     look_us = NULL WHERE state <> 'available'",
    "UPDATE allocations SET state = 'requested', node_id = NULL, version = 1, look_us = 1 \
     WHERE state = 'reserved'",
];

/// Takes back everything that placement did, with its traces, so that it can be done again. What happened in the first
/// microsecond of time is history and stays.
pub fn undo_placements(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for statement in UNDONE {
        tx.execute(statement, &[])?;
    }
    Ok(())
}

/// A bare SQLite connection, as durable as the store's own.
#[derive(Debug)]
pub struct BareSqlite(Connection);

struct Bound<'a>(&'a Value);

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self.0 {
            Value::Text(text) => rusqlite::ToSql::to_sql(text),
            Value::Int(number) => rusqlite::ToSql::to_sql(number),
            Value::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
        }
    }
}

impl BareSqlite {
    /// Opens the file of a store that nobody else has open.
    pub fn open(path: &Path) -> Result<Self, String> {
        let open = || {
            let connection = Connection::open(path)?;
            connection.set_prepared_statement_cache_capacity(64);
            connection.execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                 PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY;",
            )?;
            Ok::<_, rusqlite::Error>(Self(connection))
        };
        open().map_err(|error| error.to_string())
    }

    /// Writes placements in one transaction, with prepared row statements.
    pub fn commit(&mut self, rows: &PlacedRows, part: std::ops::Range<usize>) -> Result<(), String> {
        let write = || {
            self.0.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            for (at, shape) in SHAPES.iter().enumerate() {
                let mut statement = self.0.prepare_cached(&shape.text(|at| format!("?{at}"), ""))?;
                for values in rows.0[part.clone()].iter().flat_map(|one| &one.0[at]) {
                    let changed = statement.execute(params_from_iter(values.iter().map(Bound)))?;
                    if changed != 1 {
                        return Err(rusqlite::Error::StatementChangedRows(changed));
                    }
                }
            }
            self.0.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        };
        write().map_err(|error: rusqlite::Error| error.to_string())
    }
}

/// A bare PostgreSQL connection.
pub struct BarePostgres {
    runtime: tokio::runtime::Runtime,
    client: Client,
    statements: Vec<Statement>,
}

impl std::fmt::Debug for BarePostgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BarePostgres")
    }
}

impl BarePostgres {
    /// Connects and prepares.
    pub fn open(url: &str) -> Result<Self, String> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let opened = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let mut statements = Vec::new();
            for shape in SHAPES {
                statements.push(client.prepare(&shape.array_text()).await?);
            }
            Ok::<_, tokio_postgres::Error>((client, statements))
        });
        let (client, statements) = opened.map_err(|error| error.to_string())?;
        Ok(Self { runtime, client, statements })
    }

    /// Clears away what was undone, as a server does by itself in time.
    pub fn tidy(&mut self) -> Result<(), String> {
        let tidied = self.runtime.block_on(self.client.batch_execute("VACUUM ANALYZE"));
        tidied.map_err(|error| error.to_string())
    }

    /// Writes placements in one transaction: one statement over arrays for each table, sent without waiting in between.
    pub fn commit(&mut self, rows: &PlacedRows, part: std::ops::Range<usize>) -> Result<(), String> {
        let part = &rows.0[part];
        let (client, statements) = (&self.client, &self.statements);
        let written = self.runtime.block_on(async {
            let begin = client.batch_execute("BEGIN");
            let mut writes = Vec::new();
            for (at, (shape, statement)) in SHAPES.iter().zip(statements).enumerate() {
                let all: Vec<&Vec<Value>> = part.iter().flat_map(|one| &one.0[at]).collect();
                if !all.is_empty() {
                    writes.push(write_all(client, statement, shape, all));
                }
            }
            let (begun, counts) = futures_joined(begin, writes).await;
            begun?;
            for count in counts {
                count?;
            }
            client.batch_execute("COMMIT").await
        });
        written.map_err(|error| format!("{error}: {:?}", error.as_db_error().map(|told| told.message().to_owned())))
    }
}

async fn write_all(
    client: &Client,
    statement: &Statement,
    shape: &Shape,
    rows: Vec<&Vec<Value>>,
) -> Result<u64, tokio_postgres::Error> {
    let mut arrays: Vec<Box<dyn ToSql + Sync>> = Vec::new();
    for (at, (_, kind)) in shape.columns().enumerate() {
        let column = rows.iter().map(|row| &row[at]);
        arrays.push(match kind {
            Kind::Text => Box::new(column.map(Value::as_text).collect::<Vec<Option<&str>>>()),
            Kind::Int => Box::new(column.map(Value::as_int).collect::<Vec<Option<i64>>>()),
        });
    }
    let params: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(|array| array.as_ref() as _).collect();
    client.execute(statement, &params).await
}

// All at once, in order: the first look at each sends it.
async fn futures_joined<A, B>(first: impl Future<Output = A>, rest: Vec<impl Future<Output = B>>) -> (A, Vec<B>) {
    let mut first = std::pin::pin!(first);
    let mut rest: Vec<_> = rest.into_iter().map(Box::pin).collect();
    let (mut begun, mut done): (Option<A>, Vec<Option<B>>) = (None, rest.iter().map(|_| None).collect());
    std::future::poll_fn(move |context| {
        use std::task::Poll;
        if begun.is_none()
            && let Poll::Ready(answer) = first.as_mut().poll(context)
        {
            begun = Some(answer);
        }
        for (one, done) in rest.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(answer) = one.as_mut().poll(context)
            {
                *done = Some(answer);
            }
        }
        if begun.is_none() || done.iter().any(Option::is_none) {
            return Poll::Pending;
        }
        match begun.take() {
            Some(begun) => Poll::Ready((begun, done.iter_mut().filter_map(Option::take).collect())),
            None => Poll::Pending,
        }
    })
    .await
}
