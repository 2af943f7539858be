//! Memory probes, checked by the contents of memory after a pass.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};

use super::*;
use crate::read;

fn options(section: Value) -> Options {
    read("memory", &loadcell_testing::section("probe.memory", &section)).unwrap()
}

fn memory(section: Value, clients: u32) -> Memory {
    Memory::new(&options(section), clients, 1).unwrap()
}

fn blocks(probe: &Memory, client: u32) -> Blocks {
    match probe.passes(client).unwrap() {
        MemoryPasses::Blocks(blocks) => blocks,
        _ => panic!("no blocks"),
    }
}

fn words(blocks: &Blocks) -> Vec<u64> {
    blocks.words().iter().map(|word| word.load(Relaxed)).collect()
}

#[test]
fn defaults_match_sysbench() {
    let actual = options(json!({"test": "sysbench"}));
    assert_eq!((actual.block, actual.access, actual.operation), (1024, Access::Seq, Operation::Write));
    assert_eq!(actual.scope, Scope::Global);
}

#[test]
fn pass_writes_each_word() {
    for block in [8, 64, 72, 1024, 1 << 20] {
        let probe = memory(json!({"test": "sysbench", "block": block}), 1);
        let mut local_blocks = blocks(&probe, 0);
        local_blocks.pass();
        let expected: Vec<u64> = (1..=block / 8).rev().collect();
        assert_eq!(words(&local_blocks), expected, "a block of {block}");
    }
}

#[test]
fn only_writing_changes_anything() {
    for access in ["seq", "rnd"] {
        for operation in ["read", "none"] {
            let section =
                json!({"test": "sysbench", "block": 1000, "access": access, "operation": operation});
            let mut local_blocks = blocks(&memory(section, 1), 0);
            local_blocks.pass();
            assert_eq!(words(&local_blocks), [1; 125], "{operation} {access}");
        }
    }
    let mut local_blocks = blocks(&memory(json!({"test": "sysbench", "block": 64, "access": "rnd"}), 1), 0);
    local_blocks.pass();
    assert!(
        words(&local_blocks).iter().all(|word| *word > 1),
        "each of eight words was drawn among a hundred thousand"
    );
}

#[test]
fn global_block_is_shared_and_local_ones_are_not() {
    for (scope, shared) in [("global", true), ("local", false)] {
        let probe = memory(json!({"test": "sysbench", "scope": scope}), 2);
        let (mut first, second) = (blocks(&probe, 0), blocks(&probe, 1));
        assert_eq!(Arc::ptr_eq(first.words(), second.words()), shared, "{scope}");
        first.pass();
        assert_eq!(words(&second)[0] == 128, shared, "{scope}");
    }
}

#[test]
fn pass_has_the_expected_number_of_blocks() {
    let moved = |section| memory(section, 1).moved;
    assert_eq!(moved(json!({"test": "sysbench"})), 16 << 20);
    assert_eq!(moved(json!({"test": "sysbench", "access": "rnd"})), 1 << 20);
    assert_eq!(moved(json!({"test": "sysbench", "block": 64 << 20})), 64 << 20);
    assert_eq!(moved(json!({"test": "memcpy", "size": 4096})), 4096, "mbw counts what is copied once");
    assert_eq!(
        moved(json!({"test": "copy", "size": 4096})),
        2 * 4096,
        "STREAM what is read and what is written"
    );
    assert_eq!(moved(json!({"test": "triad", "size": 4096})), 3 * 4096);
}

/// Contents of the second array after a pass, with 0, 1, 2, ... in the first.
fn copied(test: &str, size: u64) -> Vec<u64> {
    let MemoryPasses::Copies(mut copies) = memory(json!({"test": test, "size": size}), 1).passes(0).unwrap()
    else {
        panic!("no copies");
    };
    let (from, to) = copies.arrays();
    assert!(from.iter().chain(to.iter()).all(|word| *word == 0xaa), "both are as mbw fills them");
    from.iter_mut().zip(0..).for_each(|(word, number)| *word = number);
    copies.pass();
    let (from, to) = copies.arrays();
    assert!(from.iter().zip(0..).all(|(word, number)| *word == number), "it stays what it is");
    to.to_vec()
}

#[test]
fn copies_are_equal() {
    for test in ["memcpy", "dumb"] {
        for size in [8, 4096, 1 << 20] {
            assert_eq!(copied(test, size), (0..size / 8).collect::<Vec<_>>(), "{test} of {size}");
        }
    }
}

#[test]
fn arrays_have_page_offsets_like_mbw() {
    for size in [8, 4096, 1 << 20, (1 << 20) + 8, 64 << 20] {
        let MemoryPasses::Copies(mut copies) =
            memory(json!({"test": "memcpy", "size": size}), 1).passes(0).unwrap()
        else {
            panic!("no copies");
        };
        let (from, to) = copies.arrays();
        assert_eq!((from.as_ptr().addr() % 4096, to.as_ptr().addr() % 4096), (16, 16), "of {size}");
        assert_eq!((from.len() as u64, to.len() as u64), (size / 8, size / 8));
    }
}

#[test]
fn mcblock_repeats_the_first_block_and_copies_the_tail() {
    let block = 262_144 / 8;
    for (size, tail) in [(4096, 512), (262_144, block), (3 * 262_144, block), (2 * 262_144 + 800, 100)] {
        let actual = copied("mcblock", size);
        assert_eq!(actual.len() as u64, size / 8);
        let expected: Vec<u64> = (0..size / 8).map(|at| at % block).collect();
        assert_eq!(actual, expected, "of {size}");
        assert_eq!(actual[actual.len() - 1], tail - 1, "of {size}");
    }
}

#[test]
fn stream_kernels_match_mccalpin() {
    let (a, b, c) = (1.0, 2.0, 0.5);
    for (test, expected) in [
        ("copy", [a, b, a]),
        ("scale", [a, 3.0 * c, c]),
        ("add", [a, b, a + b]),
        ("triad", [b + 3.0 * c, b, c]),
    ] {
        let MemoryPasses::Stream(mut stream) =
            memory(json!({"test": test, "size": 4096}), 1).passes(0).unwrap()
        else {
            panic!("no arrays");
        };
        stream.pass();
        for (array, value) in stream.arrays().into_iter().zip(expected) {
            assert_eq!(array, [value; 512], "{test}");
        }
    }
}

#[test]
fn invalid_options_are_rejected() {
    let refused = |section: Value, clients| Memory::new(&options(section), clients, 1).err().unwrap();
    assert!(
        refused(json!({"test": "memcpy", "size": 0}), 1).to_string().contains("workload.probe.memory.size")
    );
    assert!(
        refused(json!({"test": "add", "size": 12}), 1).to_string().contains("workload.probe.memory.size")
    );
    assert!(
        refused(json!({"test": "sysbench", "block": 0}), 1)
            .to_string()
            .contains("workload.probe.memory.block")
    );
    let large = 1u64 << 60;
    let needed = |copies: u64| format!("\"needed_bytes\":{}", copies * large);
    let problem = refused(json!({"test": "dumb", "size": large}), 1);
    assert_eq!(problem.code, "limit");
    assert!(problem.to_string().contains(&needed(2)), "{problem}");
    assert!(refused(json!({"test": "copy", "size": large}), 4).to_string().contains(&needed(12)));
    assert!(refused(json!({"test": "sysbench", "block": large}), 4).to_string().contains(&needed(1)));
    let local = json!({"test": "sysbench", "block": large, "scope": "local"});
    assert!(refused(local, 4).to_string().contains(&needed(4)));
}
