// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources of files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Reads the text of files. Tests and fuzzing replace it, so that they need no disk.
pub trait Loader {
    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// `NotFound` makes an `#include` search the next folder; any other error ends the search.
    fn load(&self, path: &Path) -> io::Result<String>;
}

/// Files on disk.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Loader for Disk {
    fn load(&self, path: &Path) -> io::Result<String> {
        if path.is_dir() {
            return Err(io::ErrorKind::NotFound.into()); // `#include <dir>` searches further, as in cpp
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
