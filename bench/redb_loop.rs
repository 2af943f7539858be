//! The limit for redb's gets, each in its own transaction: see `by_hand.rs`.

use redb::{Database, ReadableDatabase, TableDefinition};

#[path = "by_hand.rs"]
mod by_hand;

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("kv");

fn main() {
    let asked = by_hand::Asked::read();
    let database = Database::builder().set_cache_size(256 << 20).open(&asked.file).unwrap();
    by_hand::run(&asked, |key| {
        let transaction = database.begin_read().unwrap();
        let table = transaction.open_table(TABLE).unwrap();
        table.get(key).unwrap().map_or(0, |value| value.value().len())
    });
}
