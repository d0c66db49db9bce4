//! Faults played on the whole program. After each of them it says what happened and how to continue, loses nothing,
//! restores the terminal, leaves nothing running, and prints no text of a panic. [`invariants`] asserts that.
//!
//! Each has a letter for what misbehaves (A the model's server, B commands, C files, D the terminal, F sessions and
//! settings, G hooks, H load, X others) and a number; the names of its tests begin with both. A test may play several.
//!
//! | fault | | tests, by their beginning |
//! |---|---|---|
//! | A1 | a stream cut inside text | `wire::a1` |
//! | A2 | a stream cut inside a call | `wire::a2` |
//! | A3 | a stream without its last event | `wire::a3` |
//! | A4 | malformed events and arguments | `conversation::a4`, `wire::a4` |
//! | A5 | broken and split characters | `wire::a5` |
//! | A6 | a slow drip | `stream::a6` |
//! | A7 | headers, then silence | `stream::a7` |
//! | A8 | a server that asks to wait | `stream::a8`, `wire::a8` |
//! | A9 | a server in trouble, again and again | `wire::a9` |
//! | A10 | a refused request | `stream::a10` |
//! | A11 | a server that is not reached, or not the right one | `stream::a11` |
//! | A12 | a connection reset while a tool runs | `stream::a12` |
//! | A13 | endless lines, countless pieces | `stream::a13`, `wire::a13` |
//! | A14 | unknown, empty and repeated events, blocks and ids | `conversation::a14`, `wire::a14` |
//! | A15 | inputs of the wrong shape and depth | `wire::a15` |
//! | A16 | a body that is no stream, a redirect | `stream::a16`, `wire::a16` |
//! | A17 | 200 calls in one answer | `wire::a17` |
//! | A18 | messages sent while an answer comes | `stream::a18` |
//! | A19 | a program that is stopped in mid-stream | `stream::a19` |
//! | B1 | a flood of output | `commands::b1` |
//! | B2 | escape sequences in output | `commands::b2` |
//! | B3 | processes that do not want to end | `commands::b3` |
//! | B4 | a child that keeps the output open | `commands::b4` |
//! | B5 | odd time limits | `commands::b5` |
//! | B6 | commands that want a terminal | `commands::b6` |
//! | B7 | no more processes or threads | `scarcity::b7` |
//! | B8 | a working directory that is gone | `commands::b8` |
//! | B9 | signals to the group and the parent | `commands::b9` |
//! | B10 | every way for a command to end | `commands::b10` |
//! | B11 | odd and long commands | `commands::b11` |
//! | B12 | 20 commands in the background | `commands::b12` |
//! | B13 | odd environments and homes | `files::b13`, `environment::b13` |
//! | C1 | what is no file, or too long | `documents::c1`, `files::c1` |
//! | C2 | files of the kernel | `documents::c2` |
//! | C3 | files too large for memory | `documents::c3` |
//! | C4 | files that are no text | `documents::c4` |
//! | C5 | line ends and marks | `documents::c5` |
//! | C6 | modes, links, owners | `documents::c6` |
//! | C7 | writes that fail | `trees::c7` |
//! | C8 | a file that changed meanwhile | `documents::c8` |
//! | C9 | several programs on one file | `trees::c9` |
//! | C10 | directories swapped for links | `trees::c10` |
//! | C11 | odd names | `trees::c11` |
//! | C12 | edits that cannot be | `documents::c12` |
//! | C13 | hostile trees and patterns | `trees::c13` |
//! | C14 | parents that are missing or none | `trees::c14` |
//! | C16 | pictures that are none | `documents::c16` |
//! | D1 | storms of sizes, monstrous sizes | `screen::d1`, `terminal::d1` |
//! | D2 | a question on a tiny screen | `screen::d2` |
//! | D3 | a huge screen, a long transcript | `screen::d3` |
//! | D4 | stopped, in the background, and back | `terminal::d4` |
//! | D5 | streams and terminals that go, or never end | `screen::d5`, `environment::d5`, `conversation::d5` |
//! | D6 | signals, crashes, kills | `commands::d6`, `terminal::d6` |
//! | D7 | panics and failed allocations | `terminal::d7` |
//! | D8 | a terminal that does not read | `screen::d8` |
//! | D9 | no terminal, or hardly one | `screen::d9`, `environment::d9` |
//! | D10 | pastes | `screen::d10` |
//! | D11 | keys on their way | `screen::d11` |
//! | D12 | noise as input | `screen::d12` |
//! | D13 | wide and joined characters | `screen::d13` |
//! | D14 | late answers of the terminal | `screen::d14` |
//! | F1 | kill -9 at any moment | `sessions::f1` |
//! | F2 | damaged logs | `files::f2`, `sessions::f2` |
//! | F3 | a full disk | `files::f3` |
//! | F4 | two programs, one session | `sessions::f4` |
//! | F5 | broken settings | `sessions::f5`, `conversation::f5` |
//! | F6 | broken rules | `sessions::f6` |
//! | F7 | settings that change while it runs | `conversation::f7` |
//! | F8 | 20 programs at once | `sessions::f8` |
//! | F9 | hostile places to start in | `files::f9`, `environment::f9`, `terminal::f9` |
//! | F10 | logs of other versions | `sessions::f10` |
//! | F11 | logs that others could read | `sessions::f11` |
//! | F12 | keys in all that is written | `sessions::f12` |
//! | G1 | hooks that never end | `hooks::g1`, `terminal::g1` |
//! | G2 | hooks that flood | `hooks::g2` |
//! | G3 | every way for a hook to answer | `hooks::g3` |
//! | G4 | hooks that allow what is forbidden | `hooks::g4` |
//! | G5 | escape sequences of hooks | `hooks::g5` |
//! | G6 | children and streams of hooks | `hooks::g6` |
//! | G7 | hooks that change files and settings | `hooks::g7` |
//! | G8 | hooks of an untrusted project | `hooks::g8` |
//! | H4 | hardly any processor time | `screen::h4` |
//! | X3 | commands that leave the terminal raw | `terminal::x3` |
//! | X5 | a session of garbage | `files::x5` |
//! | X6 | a session whose file is lost | `files::x6` |

mod commands;
mod conversation;
mod documents;
mod environment;
mod files;
mod hooks;
mod invariants;
mod scarcity;
mod screen;
mod sessions;
mod stream;
mod terminal;
mod trees;
mod wire;

use std::collections::BTreeSet;

/// The table above lists every test, and every fault has one.
#[test]
fn every_fault_of_the_table_is_played_and_every_test_is_in_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults");
    let mut played = BTreeSet::new();
    for file in crate::support::program::files_below(folder.as_ref()) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let module = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for after in source
            .split("#[test]\nfn ")
            .skip(1)
            .filter(|_| module != "mod")
        {
            let name = after.split('(').next().unwrap_or_default();
            let codes: Vec<&str> = name.split('_').take_while(|word| is_code(word)).collect();
            assert!(!codes.is_empty(), "{module}::{name} names no fault");
            played.extend(codes.into_iter().map(|code| format!("{module}::{code}")));
        }
    }
    let table = include_str!("mod.rs").lines();
    let rows: Vec<&str> = table
        .filter(|line| line.starts_with("//! | "))
        .skip(1)
        .collect();
    let tests = rows
        .iter()
        .flat_map(|row| row.split('`').skip(1).step_by(2));
    let listed: BTreeSet<String> = tests.map(str::to_owned).collect();
    assert_eq!(listed, played);
    assert!(rows.len() >= 60, "{}", rows.len());
}

/// A letter and a number.
fn is_code(word: &str) -> bool {
    let mut letters = word.chars();
    let kind = letters.next();
    kind.is_some_and(|kind| matches!(kind, 'a'..='h' | 'x'))
        && !letters.as_str().is_empty()
        && letters.all(|letter| letter.is_ascii_digit())
}
