//! The limit for LMDB's gets, each in its own transaction: see `by_hand.rs`.

use heed::types::Bytes;
use heed::{Database, EnvFlags, EnvOpenOptions};

#[path = "by_hand.rs"]
mod by_hand;

const MAP_BYTES: usize = 1 << 30;

fn main() {
    let asked = by_hand::Asked::read();
    // SAFETY: nobody else changes the file.
    let environment = unsafe {
        let mut settings = EnvOpenOptions::new();
        settings.map_size(MAP_BYTES).flags(EnvFlags::NO_SUB_DIR);
        settings.open(&asked.file).unwrap()
    };
    let mut transaction = environment.write_txn().unwrap();
    let database: Database<Bytes, Bytes> = environment.create_database(&mut transaction, None).unwrap();
    transaction.commit().unwrap();
    by_hand::run(&asked, |key| {
        let transaction = environment.read_txn().unwrap();
        database.get(&transaction, key).unwrap().map_or(0, <[u8]>::len)
    });
}
