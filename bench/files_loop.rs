//! The limit for reading files, each opened, read whole and closed: see `by_hand.rs`. `FILE` is a directory.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

#[path = "by_hand.rs"]
mod by_hand;

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn main() {
    let asked = by_hand::Asked::read();
    let folders = fs::read_dir(&asked.file).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = folders
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .collect();
    by_hand::run(&asked, |key| {
        let number = key.iter().filter(|byte| byte.is_ascii_digit());
        let number = number.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'));
        BYTES.with_borrow_mut(|bytes| {
            bytes.clear();
            File::open(&files[number % files.len()]).unwrap().read_to_end(bytes).unwrap()
        })
    });
}
