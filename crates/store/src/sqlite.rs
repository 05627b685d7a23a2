//! The embedded engine: SQLite through rusqlite. One connection writes, a few others only read; the file belongs to one
//! process at a time. WAL with `synchronous=FULL`, so that an answered commit survives power loss; foreign keys on; no
//! memory mapping, because an I/O error under it is a signal instead of an answer.
//!
//! Refuses: a library older than 3.51.3 (a race in WAL reset could corrupt the file), a file that another process has
//! open, and a file system on which WAL cannot be had.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, config::DbConfig, ffi, types::ValueRef};

use crate::{
    Dialect, Row, StoreError, Value,
    bulk::Batch,
    run::Engine,
    tx::{Ask, Control, Fault, Session},
    value::Columns,
};

const VERSION_MIN: i32 = 3_051_003;
const STATEMENTS_CACHED: usize = 512;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Writer,
    Reader,
}

/// What is known about a statement text: which parameter each position takes, and what the columns are called.
struct Shape {
    params: Vec<usize>,
    columns: Columns,
}

/// One SQLite connection.
pub(crate) struct SqliteSession {
    connection: Connection,
    shapes: HashMap<(usize, usize), Shape>,
    bulk_texts: HashMap<usize, String>,
    #[cfg(feature = "testing")]
    pub(crate) sabotage: Arc<crate::testing::Sabotage>,
}

/// Holds a file for this process; dropping it lets go.
#[derive(Debug)]
pub(crate) struct FileHold {
    file: File,
}

impl Drop for FileHold {
    /// Closing alone is not enough: a child process that is being started has a copy of the file until it runs its program,
    /// and the lock lives as long as any copy.
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of an embedded store ends with this process");
        }
    }
}

impl FileHold {
    /// Takes `PATH.lock`, or says who has it.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let refused = |why: String| StoreError::Refused(format!("{}: {why}", path.display()));
        let mut file = private_file(&path).map_err(|error| refused(error.to_string()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = std::fs::read_to_string(&path).unwrap_or_default();
                return Err(StoreError::Refused(format!(
                    "{} is in use by another process (pid {}); an embedded store serves one process at a time",
                    database.display(),
                    if holder.trim().is_empty() { "unknown" } else { holder.trim() },
                )));
            }
            Err(TryLockError::Error(error)) => return Err(refused(error.to_string())),
        }
        let named = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        named.map_err(|error| refused(error.to_string()))?;
        Ok(Self { file })
    }
}

impl SqliteSession {
    /// Opens a file.
    pub(crate) fn open(path: &Path, role: Role, busy: Duration) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | match role {
                Role::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
                Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
            };
        if role == Role::Writer {
            // SQLite gives its WAL and index files the mode of the database file.
            private_file(path).map_err(|error| StoreError::Refused(format!("{}: {error}", path.display())))?;
        }
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| StoreError::Refused(format!("{}: {error}", path.display())))?;
        let session = Self::prepared(connection, busy).map_err(|error| refused(path, &error))?;
        session.configure_file(role).map_err(|error| refused(path, &error))?;
        Ok(session)
    }

    /// A store that lives and dies with this connection.
    pub(crate) fn open_in_memory() -> Result<Self, StoreError> {
        let opened = Connection::open_in_memory().and_then(|connection| Self::prepared(connection, Duration::ZERO));
        opened.map_err(|error| refused(Path::new(":memory:"), &error))
    }

    /// A copy of a store that was in memory, as [`Self::image`] gave it.
    pub(crate) fn open_image(image: &[u8]) -> Result<Self, StoreError> {
        let opened = Connection::open_in_memory().and_then(|mut connection| {
            connection.deserialize_read_exact(rusqlite::MAIN_DB, image, image.len(), false)?;
            connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
            Self::prepared(connection, Duration::ZERO)
        });
        opened.map_err(|error| refused(Path::new(":memory:"), &error))
    }

    /// How many rows were written since the connection was opened.
    pub(crate) fn changes(&self) -> u64 {
        self.connection.total_changes()
    }

    /// The whole store as bytes.
    pub(crate) fn image(&mut self) -> Result<Vec<u8>, StoreError> {
        let image = self.connection.serialize(rusqlite::MAIN_DB).map(|data| data.to_vec());
        image.map_err(|error| StoreError::Other(error.to_string()))
    }

    fn prepared(connection: Connection, busy: Duration) -> rusqlite::Result<Self> {
        if rusqlite::version_number() < VERSION_MIN {
            return Err(rusqlite::Error::ToSqlConversionFailure(
                format!("SQLite {} is too old, 3.51.3 is needed", rusqlite::version()).into(),
            ));
        }
        connection.busy_timeout(busy)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
        connection.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;",
        )?;
        // Plans do not depend on the values that are bound: a statement is planned once, not again for every value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        #[cfg(feature = "testing")]
        let (connection, sabotage) = crate::testing::Sabotage::install(connection)?;
        Ok(Self {
            connection,
            shapes: HashMap::new(),
            bulk_texts: HashMap::new(),
            #[cfg(feature = "testing")]
            sabotage,
        })
    }

    fn configure_file(&self, role: Role) -> rusqlite::Result<()> {
        match role {
            Role::Writer => {
                let mode: String = self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
                if mode != "wal" {
                    return Err(rusqlite::Error::ToSqlConversionFailure(
                        format!("the file system allows journal mode {mode} only, WAL is needed").into(),
                    ));
                }
                self.connection.execute_batch(
                    "PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 4000;",
                )
            }
            Role::Reader => self.connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8192;"),
        }
    }

    fn fault(&self, error: &rusqlite::Error) -> Fault {
        let (code, extended, message) = match error {
            rusqlite::Error::SqliteFailure(failure, message) => {
                (failure.code, failure.extended_code, message.clone().unwrap_or_else(|| failure.to_string()))
            }
            other => return Fault::plain(StoreError::Other(other.to_string())),
        };
        let rule = || message.split_once("failed: ").map_or_else(|| message.clone(), |(_, rule)| rule.to_owned());
        let error = match extended {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
                StoreError::UniqueViolation { constraint: self.unique_rule(&rule()).unwrap_or_else(rule) }
            }
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => StoreError::ForeignKeyViolation,
            ffi::SQLITE_CONSTRAINT_CHECK | ffi::SQLITE_CONSTRAINT_NOTNULL => {
                StoreError::CheckViolation { constraint: rule() }
            }
            _ => match code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::OutOfMemory => StoreError::Unavailable(message),
                _ => StoreError::Other(message),
            },
        };
        // Some errors (disk full, I/O) roll the whole transaction back by themselves.
        Fault { again: error == StoreError::Busy, gone: self.connection.is_autocommit(), error }
    }

    /// The name that PostgreSQL gives the rule which SQLite describes as `table.a, table.b`.
    fn unique_rule(&self, columns: &str) -> Option<String> {
        let (table, _) = columns.split_once('.')?;
        let names: Vec<&str> = columns.split(", ").filter_map(|name| name.split_once('.').map(|(_, c)| c)).collect();
        let mut listing = self
            .connection
            .prepare("SELECT l.name, l.origin, i.name FROM pragma_index_list(?1) l, pragma_index_info(l.name) i WHERE l.\"unique\" = 1 ORDER BY l.seq, i.seqno")
            .ok()?;
        let found = listing.query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).ok()?;
        let mut indexes: Vec<(String, String, Vec<String>)> = Vec::new();
        for (index, origin, column) in found.flatten() {
            match indexes.last_mut() {
                Some(last) if last.0 == index => last.2.push(column),
                _ => indexes.push((index, origin, vec![column])),
            }
        }
        let (index, origin, _) = indexes.into_iter().find(|(_, _, columns)| *columns == names)?;
        Some(match origin.as_str() {
            "pk" => format!("{table}_pkey"),
            "u" => format!("{table}_{}_key", names.join("_")),
            _ => index,
        })
    }

    fn run<T>(
        &mut self,
        sql: &'static str,
        params: &[Value],
        read: impl FnOnce(&mut Statement<'_>, &Columns) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let key = (sql.as_ptr().addr(), sql.len());
        let answer = (|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let shape = self.shapes.entry(key).or_insert_with(|| Shape::of(&statement));
            if shape.params.iter().copied().max().unwrap_or(0) != params.len() {
                let why = format!("{} parameters for: {sql}", params.len());
                return Err(rusqlite::Error::ToSqlConversionFailure(why.into()));
            }
            for (at, number) in shape.params.iter().enumerate() {
                bind(&mut statement, at + 1, &params[number - 1])?;
            }
            let answer = read(&mut statement, &shape.columns);
            // Cached statements must not keep a row or a text alive.
            statement.clear_bindings();
            answer
        })();
        answer.map_err(|error| self.fault(&error))
    }
}

impl Shape {
    /// SQLite numbers `$n` by first appearance, so the digits in the name say which parameter is meant.
    fn of(statement: &Statement<'_>) -> Self {
        let number =
            |at: usize| statement.parameter_name(at).and_then(|name| name.get(1..)?.parse().ok()).unwrap_or(at);
        Self {
            params: (1..=statement.parameter_count()).map(number).collect(),
            columns: statement.column_names().map(Box::from).collect(),
        }
    }
}

/// Opens a file, made if need be, that only its owner may read: a store holds hashes of secrets and who did what.
fn private_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn refused(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Refused(format!("{}: {error}", path.display()))
}

fn bind(statement: &mut Statement<'_>, at: usize, value: &Value) -> rusqlite::Result<()> {
    match value {
        Value::Text(text) => statement.raw_bind_parameter(at, text.as_str()),
        Value::Int(number) => statement.raw_bind_parameter(at, number),
        Value::Null => statement.raw_bind_parameter(at, rusqlite::types::Null),
    }
}

fn cell(at: usize, value: ValueRef<'_>) -> rusqlite::Result<Value> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Int(number)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(error) => Err(rusqlite::Error::Utf8Error(at, error)),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => {
            Err(rusqlite::Error::InvalidColumnType(at, "neither text nor integer".to_owned(), value.data_type()))
        }
    }
}

impl Session for SqliteSession {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn query(&mut self, sql: &'static str, params: &[Value]) -> Result<Vec<Row>, Fault> {
        self.run(sql, params, |statement, columns| {
            let mut answer = Vec::new();
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let mut cells = Vec::with_capacity(columns.len());
                for at in 0..columns.len() {
                    cells.push(cell(at, row.get_ref(at)?)?);
                }
                answer.push(Row::new(Arc::clone(columns), cells));
            }
            Ok(answer)
        })
    }

    fn query_each(&mut self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Fault> {
        asks.iter().map(|(sql, params)| self.query(sql, params)).collect()
    }

    fn execute(&mut self, sql: &'static str, params: &[Value]) -> Result<u64, Fault> {
        self.run(sql, params, |statement, _| Ok(u64::try_from(statement.raw_execute()?).unwrap_or(u64::MAX)))
    }

    fn bulk(&mut self, batch: &Batch) -> Result<u64, Fault> {
        let text = self.bulk_texts.entry(batch.what().key()).or_insert_with(|| batch.what().row_text());
        let answer = self.connection.prepare_cached(text).and_then(|mut statement| {
            let mut changed = 0;
            for row in batch.rows() {
                for (at, value) in row.iter().enumerate() {
                    bind(&mut statement, at + 1, value)?;
                }
                changed += u64::try_from(statement.raw_execute()?).unwrap_or(u64::MAX);
            }
            statement.clear_bindings();
            Ok(changed)
        });
        answer.map_err(|error| self.fault(&error))
    }

    fn post(&mut self, sql: &'static str, params: &[Value]) -> Result<(), Fault> {
        match self.execute(sql, params)? {
            1 => Ok(()),
            _ => Err(Fault::plain(StoreError::StaleVersion)),
        }
    }

    fn post_bulk(&mut self, batch: &Batch) -> Result<(), Fault> {
        let changed = self.bulk(batch)?;
        if usize::try_from(changed) == Ok(batch.len()) { Ok(()) } else { Err(Fault::plain(StoreError::StaleVersion)) }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn control(&mut self, word: Control) -> Result<(), Fault> {
        #[cfg(feature = "testing")]
        let lost = word == Control::Commit && self.sabotage.loses_answer();
        let text = word.text(Dialect::Sqlite);
        let answer = self.connection.prepare_cached(text).and_then(|mut statement| statement.raw_execute());
        #[cfg(feature = "testing")]
        if lost {
            return Err(Fault::plain(StoreError::Other("the answer to COMMIT was lost on purpose".into())));
        }
        answer.map(drop).map_err(|error| self.fault(&error))
    }

    fn script(&mut self, text: &str) -> Result<(), Fault> {
        self.connection.execute_batch(text).map_err(|error| self.fault(&error))
    }
}

impl Engine for SqliteSession {
    fn restore(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn undoes_parts(&self) -> bool {
        true
    }

    fn distrust(&mut self) -> bool {
        // Closing must not move the doubtful frames into the database file; recovery at the next start decides.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        true
    }
}
