//! Many rows in one statement, passed as data. A catalogue entry ([`BulkInsert`], [`BulkUpdate`]) says once which table
//! and columns; each engine makes its own best text of it: SQLite runs a prepared row statement in a loop (no network
//! in between), PostgreSQL gets one statement over `UNNEST` of one array per column. Texts stay few and constant, so
//! that statement caches do.

use std::fmt::Write as _;

use crate::Value;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// TEXT.
    Text,
    /// BIGINT.
    Int,
}

impl Kind {
    const fn array(self) -> &'static str {
        match self {
            Self::Text => "text[]",
            Self::Int => "bigint[]",
        }
    }
}

/// A column with its kind.
pub type Column = (&'static str, Kind);

/// Inserts whole rows.
#[derive(Debug)]
pub struct BulkInsert {
    /// Into which table.
    pub table: &'static str,
    /// Which columns a row of the batch brings, in order.
    pub columns: &'static [Column],
}

/// Changes rows that still match.
#[derive(Debug)]
pub struct BulkUpdate {
    /// In which table.
    pub table: &'static str,
    /// The first columns of a batch row: a table row is changed only where all of them are equal (key, version, state).
    pub matches: &'static [Column],
    /// The columns after them: what to set.
    pub sets: &'static [Column],
    /// More assignments that need no data, such as `version = version + 1`; may be empty.
    pub also: &'static str,
}

/// One entry of the catalogue.
#[derive(Debug, Clone, Copy)]
pub enum Bulk {
    /// An insert.
    Insert(&'static BulkInsert),
    /// A guarded update.
    Update(&'static BulkUpdate),
}

impl Bulk {
    pub(crate) fn columns(self) -> impl Iterator<Item = Column> {
        let (first, second) = match self {
            Self::Insert(entry) => (entry.columns, &[][..]),
            Self::Update(entry) => (entry.matches, entry.sets),
        };
        first.iter().chain(second).copied()
    }

    /// How many values one row brings.
    pub fn width(self) -> usize {
        match self {
            Self::Insert(entry) => entry.columns.len(),
            Self::Update(entry) => entry.matches.len() + entry.sets.len(),
        }
    }

    /// Entries live for ever, so their address names their text in a cache.
    pub(crate) fn key(self) -> usize {
        match self {
            Self::Insert(entry) => std::ptr::from_ref(entry).addr(),
            Self::Update(entry) => std::ptr::from_ref(entry).addr(),
        }
    }

    /// The statement for one row, numbered `?1..?n`.
    pub(crate) fn row_text(self) -> String {
        match self {
            Self::Insert(entry) => {
                let names: Vec<&str> = entry.columns.iter().map(|(name, _)| *name).collect();
                let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
                format!("INSERT INTO {} ({}) VALUES ({})", entry.table, names.join(", "), marks.join(", "))
            }
            Self::Update(entry) => entry.text(|n| format!("?{n}"), ""),
        }
    }

    /// The statement for a whole batch: parameter n is the array of column n.
    pub(crate) fn array_text(self) -> String {
        let arrays: Vec<String> =
            self.columns().enumerate().map(|(at, (_, kind))| format!("${}::{}", at + 1, kind.array())).collect();
        let names: Vec<String> = (1..=arrays.len()).map(|n| format!("a{n}")).collect();
        let rows = format!("UNNEST({}) AS u ({})", arrays.join(", "), names.join(", "));
        match self {
            Self::Insert(entry) => {
                let columns: Vec<&str> = entry.columns.iter().map(|(name, _)| *name).collect();
                format!("INSERT INTO {} ({}) SELECT * FROM {rows}", entry.table, columns.join(", "))
            }
            Self::Update(entry) => entry.text(|n| format!("u.a{n}"), &format!(" FROM {rows}")),
        }
    }
}

impl BulkUpdate {
    fn text(&self, mark: impl Fn(usize) -> String, from: &str) -> String {
        let mut sets: Vec<String> = Vec::new();
        for (at, (name, _)) in self.sets.iter().enumerate() {
            sets.push(format!("{name} = {}", mark(self.matches.len() + at + 1)));
        }
        if !self.also.is_empty() {
            sets.push(self.also.to_owned());
        }
        let mut text = format!("UPDATE {} SET {}{from} WHERE ", self.table, sets.join(", "));
        for (at, (name, _)) in self.matches.iter().enumerate() {
            let and = if at == 0 { "" } else { " AND " };
            let _ = write!(text, "{and}{}.{name} = {}", self.table, mark(at + 1));
        }
        text
    }
}

/// Rows for one catalogue entry.
#[derive(Debug, Clone)]
pub struct Batch {
    what: Bulk,
    values: Vec<Value>,
}

impl Batch {
    /// An empty batch of inserts.
    pub fn insert(entry: &'static BulkInsert) -> Self {
        Self { what: Bulk::Insert(entry), values: Vec::new() }
    }

    /// An empty batch of guarded updates.
    pub fn update(entry: &'static BulkUpdate) -> Self {
        Self { what: Bulk::Update(entry), values: Vec::new() }
    }

    /// Adds one row: a value of the right kind (or NULL) for every column of the entry. Anything else is a programming
    /// error and panics, since it would shift or spoil every row behind it.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        assert_eq!(N, self.what.width(), "a row of {N} values for {:?}", self.what);
        for ((name, kind), value) in self.what.columns().zip(&row) {
            let fits =
                matches!((kind, value), (Kind::Text, Value::Text(_)) | (Kind::Int, Value::Int(_)) | (_, Value::Null));
            assert!(fits, "{value:?} for column {name}");
        }
        self.values.extend(row);
    }

    /// How many rows are in it.
    pub fn len(&self) -> usize {
        self.values.len() / self.what.width().max(1)
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The entry the rows are for.
    pub fn what(&self) -> Bulk {
        self.what
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn rows(&self) -> std::slice::ChunksExact<'_, Value> {
        self.values.chunks_exact(self.what.width().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static MOVE: BulkUpdate = BulkUpdate {
        table: "node_resource_slots",
        matches: &[("id", Kind::Text), ("version", Kind::Int)],
        sets: &[("state", Kind::Text)],
        also: "version = version + 1",
    };

    #[test]
    fn one_entry_makes_both_texts() {
        assert_eq!(
            Bulk::Update(&MOVE).row_text(),
            "UPDATE node_resource_slots SET state = ?3, version = version + 1 \
             WHERE node_resource_slots.id = ?1 AND node_resource_slots.version = ?2"
        );
        assert_eq!(
            Bulk::Update(&MOVE).array_text(),
            "UPDATE node_resource_slots SET state = u.a3, version = version + 1 \
             FROM UNNEST($1::text[], $2::bigint[], $3::text[]) AS u (a1, a2, a3) \
             WHERE node_resource_slots.id = u.a1 AND node_resource_slots.version = u.a2"
        );
    }

    #[test]
    #[should_panic(expected = "a row of 1 values")]
    fn a_short_row_is_refused() {
        Batch::update(&MOVE).push([Value::Null]);
    }

    #[test]
    #[should_panic(expected = "for column version")]
    fn a_value_of_the_wrong_kind_is_refused() {
        Batch::update(&MOVE).push(["slt_1".into(), "1".into(), "reserved".into()]);
    }
}
