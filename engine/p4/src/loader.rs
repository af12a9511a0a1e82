// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where source files come from.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Gives the text of files, so that tests and fuzzing need no disk.
pub trait Loader {
    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// `NotFound` lets an `#include` look in the next folder; any other error ends the search.
    fn load(&self, path: &Path) -> io::Result<String>;
}

/// Files on disk.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Loader for Disk {
    fn load(&self, path: &Path) -> io::Result<String> {
        if path.is_dir() {
            return Err(io::ErrorKind::NotFound.into()); // `#include <dir>` looks further, as cpp does
        }
        let bytes = std::fs::read(path)?;
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8"))
    }
}

/// Files in memory.
#[derive(Clone, Default, Debug)]
pub struct Memory(pub BTreeMap<PathBuf, String>);

impl Memory {
    /// A single file.
    pub fn single(path: &str, text: &str) -> Memory {
        Memory(BTreeMap::from([(path.into(), text.to_string())]))
    }
}

impl Loader for Memory {
    fn load(&self, path: &Path) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
