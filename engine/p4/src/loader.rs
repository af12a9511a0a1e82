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

/// Files on disk that lie in some folders, also by the targets of links. For programs of people who may not read the others.
#[derive(Clone, Debug)]
pub struct Confined {
    /// The folders, without links in their paths ([`Path::canonicalize`]).
    pub folders: Vec<PathBuf>,
}

impl Loader for Confined {
    fn load(&self, path: &Path) -> io::Result<String> {
        let real = path.canonicalize()?;
        if self.folders.iter().any(|folder| real.starts_with(folder)) {
            return Disk.load(&real);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is outside of the folders that may be read"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confined_loader_follows_no_way_out() {
        let folder = Path::new("p4include").canonicalize().expect("it is there");
        let confined = Confined { folders: vec![folder] };
        assert!(confined.load(Path::new("p4include/core.p4")).is_ok());
        for outside in ["p4include/../Cargo.toml", "Cargo.toml", "/etc/hostname", "p4include/.."] {
            let error = confined.load(Path::new(outside)).expect_err("it is outside");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{outside}");
        }
        assert_eq!(confined.load(Path::new("p4include/none.p4")).expect_err("none").kind(), io::ErrorKind::NotFound);
    }
}
