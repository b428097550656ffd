//! Tar reader for untrusted archives, entry by entry: the metadata before a file (its long name) is
//! bounded, while `tar` by itself reads all of it.

use std::io::{Error, ErrorKind, Read};
use std::path::PathBuf;

use tar::{Entry, EntryType, PaxExtensions};

/// The most bytes of a description. A longer path is none that a file system takes.
const DESCRIPTION_BYTES_MAX: u64 = 64 << 10;

/// Shows each plain file with its path to `each`; links, folders and devices are passed over.
///
/// # Errors
/// Those of `each`; and of the kind [`ErrorKind::InvalidData`], in words, where it is no archive, a
/// description is longer than 64 KiB, or it has more than `entries_max` entries.
pub(crate) fn files<R: Read, E: From<Error>>(
    reader: R,
    entries_max: usize,
    mut each: impl FnMut(PathBuf, &mut Entry<'_, R>) -> Result<(), E>,
) -> Result<(), E> {
    let bad = |e: Error| E::from(Error::new(ErrorKind::InvalidData, e.to_string()));
    let refused = |reason: String| E::from(Error::new(ErrorKind::InvalidData, reason));
    let mut archive = tar::Archive::new(reader);
    let mut described = Described::default();
    for (number, entry) in archive.entries().map_err(bad)?.raw(true).enumerate() {
        let mut entry = entry.map_err(bad)?;
        if number >= entries_max {
            return Err(refused(format!("it has more than {entries_max} entries")));
        }
        let kind = entry.header().entry_type();
        if matches!(
            kind,
            EntryType::GNULongName
                | EntryType::GNULongLink
                | EntryType::XHeader
                | EntryType::XGlobalHeader
        ) {
            if entry.size() > DESCRIPTION_BYTES_MAX {
                return Err(refused(format!(
                    "the description of one of its files has {} bytes; allowed are {DESCRIPTION_BYTES_MAX}",
                    entry.size()
                )));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(bad)?;
            described.add(kind, text);
            continue;
        }
        if entry.header().as_gnu().is_some_and(|gnu| kind.is_gnu_sparse() && gnu.is_extended()) {
            return Err(refused("it has files with holes; pack it without `--sparse`".into()));
        }
        let Described { path, size } = std::mem::take(&mut described);
        if let Some(size) = size.filter(|size| *size != entry.size()) {
            // Where another reader would look for the next file is not where this one does.
            return Err(refused(format!(
                "it says of a file that it has {} bytes, and that it has {size}",
                entry.size()
            )));
        }
        if !kind.is_file() {
            continue;
        }
        let path = match path {
            Some(path) => path_of(&path),
            None => entry.path().map_err(bad)?.into_owned(),
        };
        each(path, &mut entry)?;
    }
    Ok(())
}

/// What is said of the next file.
#[derive(Default)]
struct Described {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Described {
    fn add(&mut self, kind: EntryType, text: Vec<u8>) {
        match kind {
            EntryType::GNULongName => {
                let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                self.path = Some(text[..end].to_vec());
            }
            EntryType::XHeader => {
                for said in PaxExtensions::new(&text).flatten() {
                    match said.key_bytes() {
                        // What GNU's says goes before.
                        b"path" if self.path.is_none() => {
                            self.path = Some(said.value_bytes().to_vec())
                        }
                        b"size" => self.size = said.value().ok().and_then(|size| size.parse().ok()),
                        _ => {}
                    }
                }
            }
            // Where a link leads, and what is said of all files, matters to nobody here.
            _ => {}
        }
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(EntryType, &[u8])]) -> Vec<u8> {
        let mut packed = tar::Builder::new(Vec::new());
        for (kind, held) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_path("short.js").expect("fits");
            header.set_entry_type(*kind);
            header.set_size(held.len() as u64);
            header.set_cksum();
            packed.append(&header, *held).expect("packs");
        }
        packed.into_inner().expect("packs")
    }

    fn read(packed: &[u8]) -> Result<Vec<(String, String)>, Error> {
        let mut found = Vec::new();
        files(packed, 10, |path, entry| {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            found.push((path.display().to_string(), text));
            Ok::<(), Error>(())
        })?;
        Ok(found)
    }

    fn pax(key: &str, value: &str) -> Vec<u8> {
        let rest = format!(" {key}={value}\n");
        let length = (rest.len()..)
            .find(|length| rest.len() + length.to_string().len() == *length)
            .expect("a length");
        format!("{length}{rest}").into_bytes()
    }

    #[test]
    fn files_have_the_names_that_stand_before_them() {
        let (file, long, link, local, global) = (
            EntryType::Regular,
            EntryType::GNULongName,
            EntryType::GNULongLink,
            EntryType::XHeader,
            EntryType::XGlobalHeader,
        );
        let name = "folder/".repeat(100) + "x.js";
        let said = pax("path", &name);
        for before in [
            vec![(long, name.as_bytes())],
            vec![(local, &said[..])],
            vec![(global, &b"11 x=yyyyy\n"[..]), (link, b"y"), (local, &said[..])],
        ] {
            let packed = archive(
                &[&before[..], &[(file, b"1"), (EntryType::Symlink, b""), (file, b"2")]].concat(),
            );
            assert_eq!(
                read(&packed).expect("reads"),
                [(name.clone(), "1".to_owned()), ("short.js".to_owned(), "2".to_owned())]
            );
        }
    }

    #[test]
    fn descriptions_without_end_or_that_disagree_are_refused() {
        let much = vec![b'a'; 64 << 10];
        for kind in [
            EntryType::GNULongName,
            EntryType::GNULongLink,
            EntryType::XHeader,
            EntryType::XGlobalHeader,
        ] {
            assert!(
                read(&archive(&[(kind, &much), (EntryType::Regular, b"1")])).is_ok(),
                "{kind:?}"
            );
            let refused =
                read(&archive(&[(kind, &[&much[..], b"a"].concat()), (EntryType::Regular, b"1")]))
                    .expect_err("too long");
            assert!(refused.to_string().contains("65537 bytes; allowed are 65536"), "{refused}");
        }
        assert!(
            read(&archive(&[(EntryType::XHeader, &pax("size", "1")), (EntryType::Regular, b"1")]))
                .is_ok()
        );
        let refused =
            read(&archive(&[(EntryType::XHeader, &pax("size", "0")), (EntryType::Regular, b"1")]))
                .expect_err("disagrees");
        assert!(refused.to_string().contains("1 bytes"), "{refused}");
        assert_eq!(
            read(&archive(&[(EntryType::Regular, &b""[..]); 11])).expect_err("many").kind(),
            ErrorKind::InvalidData
        );
        assert_eq!(read(&[7; 512]).expect_err("no archive").kind(), ErrorKind::InvalidData);
    }
}
