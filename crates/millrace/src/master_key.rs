//! Place of the master key: a file (by default in the data directory), the environment, or the
//! output of a command.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_engine::{MasterKey, MasterKeyError, MasterKeys};
use millrace_model::IdSource;

use crate::config::MasterKeyConfig;
use crate::data_dir::{rename, was_used, write_private};
use crate::usable::{self, Unusable};

/// What to do where there is no key, or not the right one.
const WHERE: &str = "restore it from a backup, or say where it is (docs/operate/master-key.md)";

/// The place of the master key.
pub struct KeyPlace(Place);

enum Place {
    /// 32 bytes, or one of the texts below. A key that is about to take its place lies beside it.
    File(PathBuf),
    /// Texts: the key, and the one before it.
    Given { key: String, old: Option<String> },
    /// A shell command that prints the key.
    Command(String),
}

impl KeyPlace {
    /// The place that is configured; else the file `default`, which is made where it is not there:
    /// [`Self::refuse_unusable`] is asked before.
    pub fn open(
        config: &MasterKeyConfig,
        default: &Path,
        ids: &IdSource,
    ) -> Result<Self, MasterKeyError> {
        let place = match config {
            MasterKeyConfig { command: Some(command), .. } => Place::Command(command.clone()),
            MasterKeyConfig { key: Some(key), old, .. } => {
                Place::Given { key: key.clone(), old: old.clone() }
            }
            MasterKeyConfig { file: Some(file), .. } => Place::File(file.clone()),
            _ => {
                if !default.exists() && !beside(default).exists() {
                    write_private(default, &ids.bytes::<32>())
                        .map_err(|e| file_error(default, &e))?;
                }
                Place::File(default.to_path_buf())
            }
        };
        Ok(Self(place))
    }

    /// Fails where a start would have no key: one of a data directory that was used is not there,
    /// or what is there is none. Asked before anything of the directory is touched. A command is
    /// not run for it.
    pub fn refuse_unusable(config: &MasterKeyConfig, default: &Path) -> Result<(), Unusable> {
        let Some(place) = Self::in_sight(config, default)? else { return Ok(()) };
        place
            .read()
            .map(drop)
            .map_err(|error| Unusable { found: error.to_string(), mend: WHERE.into() })
    }

    /// Fails where the key that a start would use is none of `ids`, the keys that a database's
    /// secrets are kept under. A command is not run for it.
    pub fn refuse_foreign(
        config: &MasterKeyConfig,
        default: &Path,
        ids: &[String],
    ) -> Result<(), Unusable> {
        let Some((key, others)) =
            Self::in_sight(config, default)?.and_then(|place| place.read().ok())
        else {
            return Ok(());
        };
        let given: Vec<String> = std::iter::once(&key).chain(&others).map(MasterKey::id).collect();
        match ids.iter().find(|id| !given.contains(id)) {
            None => Ok(()),
            Some(id) if !MasterKey::is_id(id) => Err(Unusable {
                found: "a row of the table `data_keys` of this database is damaged: it does not name a master key".into(),
                mend: "restore the database from a backup of the time before (docs/operate/durability.md); the master key is not the cause".into(),
            }),
            Some(id) => Err(Unusable {
                found: format!(
                    "the secrets of this database are kept under the master key with the id {id}, and the one given has the id {}",
                    key.id()
                ),
                mend: WHERE.into(),
            }),
        }
    }

    /// The place, where it can be read at any time and without a side effect. None where no key was
    /// made yet.
    fn in_sight(config: &MasterKeyConfig, default: &Path) -> Result<Option<Self>, Unusable> {
        let place = match config {
            MasterKeyConfig { command: Some(_), .. } => return Ok(None),
            MasterKeyConfig { key: Some(key), old, .. } => {
                Place::Given { key: key.clone(), old: old.clone() }
            }
            // A pipe gives its key once.
            MasterKeyConfig { file: Some(file), .. }
                if std::fs::metadata(file).is_ok_and(|file| !file.is_file()) =>
            {
                return Ok(None);
            }
            MasterKeyConfig { file: Some(file), .. } => Place::File(file.clone()),
            _ if default.exists() || beside(default).exists() => {
                for path in [default, &beside(default)] {
                    usable::file_to_read("the master key", path)?;
                }
                Place::File(default.to_path_buf())
            }
            _ if default.parent().is_some_and(was_used) => {
                let path = default.display();
                let found = format!(
                    "the master key `{path}` is missing, though this data directory has been used: without it no stored secret can be read"
                );
                return Err(Unusable { found, mend: WHERE.into() });
            }
            _ => return Ok(None),
        };
        Ok(Some(Self(place)))
    }
}

impl MasterKeys for KeyPlace {
    fn read(&self) -> Result<(MasterKey, Vec<MasterKey>), MasterKeyError> {
        Ok(match &self.0 {
            Place::File(path) => match (of_file(path), of_file(&beside(path))) {
                (Ok(key), next) => (key, next.into_iter().collect()),
                (Err(_), Ok(next)) => (next, Vec::new()),
                (Err(error), Err(_)) => return Err(error),
            },
            Place::Given { key, old } => {
                let old = old
                    .as_deref()
                    .map(|text| {
                        of_bytes(text.as_bytes(), "master_key_old (MILLRACE_MASTER_KEY_OLD)")
                    })
                    .transpose()?;
                (
                    of_bytes(key.as_bytes(), "master_key (MILLRACE_MASTER_KEY)")?,
                    old.into_iter().collect(),
                )
            }
            Place::Command(command) => (of_command(command)?, Vec::new()),
        })
    }

    fn prepare(&self, ids: &IdSource, current: &str) -> Result<MasterKey, MasterKeyError> {
        match &self.0 {
            Place::File(path) => {
                let (bytes, next) = (ids.bytes::<32>(), beside(path));
                // A change before this one may have been broken off with the database under the key
                // that lies beside: that is its only copy.
                if of_file(&next).is_ok_and(|key| key.id() == current) {
                    self.take_over()?;
                }
                let path = next;
                write_private(&path, &bytes).map_err(|e| file_error(&path, &e))?;
                Ok(MasterKey::new(bytes))
            }
            Place::Given { .. } => {
                Err(MasterKeyError("the master key comes from the environment: start the server again with the new key as MILLRACE_MASTER_KEY and the current one as MILLRACE_MASTER_KEY_OLD".into()))
            }
            Place::Command(command) => of_command(command),
        }
    }

    fn take_over(&self) -> Result<(), MasterKeyError> {
        match &self.0 {
            Place::File(path) => rename(&beside(path), path).map_err(|e| file_error(path, &e)),
            Place::Given { .. } | Place::Command(_) => Ok(()),
        }
    }
}

/// Where a key lies that is about to take the place of the one of `path`.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".next");
    path.with_file_name(name)
}

fn file_error(path: &Path, error: &std::io::Error) -> MasterKeyError {
    MasterKeyError(format!("could not use the master key `{}`: {error}", path.display()))
}

/// That a file holds a key.
/// The id of the key in a file.
pub fn id_of_file(path: &Path) -> Result<String, MasterKeyError> {
    of_file(path).map(|key| key.id())
}

fn of_file(path: &Path) -> Result<MasterKey, MasterKeyError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(1024).read_to_end(&mut bytes))
        .map_err(|e| file_error(path, &e))?;
    of_bytes(&bytes, &format!("the master key `{}`", path.display()))
}

fn of_command(command: &str) -> Result<MasterKey, MasterKeyError> {
    let failed = |why: String| {
        MasterKeyError(format!("the command of --master-key-command gave no key: {why}"))
    };
    let output = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    of_bytes(&output.stdout, "what the command of --master-key-command prints")
}

/// 32 bytes as they are, in hex or in base64.
fn of_bytes(bytes: &[u8], what: &str) -> Result<MasterKey, MasterKeyError> {
    if let Ok(key) = <[u8; 32]>::try_from(bytes) {
        return Ok(MasterKey::new(key));
    }
    let text = std::str::from_utf8(bytes).unwrap_or("").trim();
    let hex = || -> Option<Vec<u8>> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
            .collect()
    };
    let key = if text.len() == 64 { hex() } else { STANDARD.decode(text).ok() };
    match key.and_then(|key| <[u8; 32]>::try_from(key).ok()) {
        Some(key) => Ok(MasterKey::new(key)),
        None => Err(MasterKeyError(format!(
            "{what} is no master key: it has {} bytes; a key is 32 bytes, or those in hex or base64",
            bytes.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_bytes_hex_or_base64() {
        let key = MasterKey::new([0xab; 32]);
        for text in ["ab".repeat(32), format!("{}\n", "AB".repeat(32)), STANDARD.encode([0xab; 32])]
        {
            assert_eq!(of_bytes(text.as_bytes(), "x").expect("a key").id(), key.id(), "{text}");
        }
        assert_eq!(of_bytes(&[0xab; 32], "x").expect("a key").id(), key.id());
        for wrong in ["", "ab", &"zz".repeat(32), &"é".repeat(32)] {
            let error = of_bytes(wrong.as_bytes(), "the file").expect_err("no key").to_string();
            assert!(
                error.starts_with("the file is no master key")
                    && (wrong.is_empty() || !error.contains(wrong)),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_is_changed_in_two_steps_and_found_after_each() {
        let (dir, ids) = (tempfile::tempdir().expect("a folder"), IdSource::default());
        let path = dir.path().join("master.key");
        let place = KeyPlace::open(&MasterKeyConfig::default(), &path, &ids).expect("makes a key");
        let (old, others) = place.read().expect("reads");
        assert!(others.is_empty());
        let next = place.prepare(&ids, &old.id()).expect("prepares");
        let (current, others) = place.read().expect("reads");
        assert_eq!(
            (current.id(), others.iter().map(MasterKey::id).collect::<Vec<_>>()),
            (old.id(), vec![next.id()])
        );
        // The database may be under the one beside, whose change was broken off: it is kept, and
        // yet another one lies beside it.
        let third = place.prepare(&ids, &next.id()).expect("prepares");
        let (current, others) = place.read().expect("reads");
        assert_eq!(
            (current.id(), others.iter().map(MasterKey::id).collect::<Vec<_>>()),
            (next.id(), vec![third.id()])
        );
        let next = third;
        place.take_over().expect("takes over");
        let (current, others) = place.read().expect("reads");
        assert_eq!((current.id(), others.len()), (next.id(), 0));
        let given = MasterKeyConfig { key: Some("ab".repeat(32)), ..MasterKeyConfig::default() };
        let error = KeyPlace::open(&given, &path, &ids)
            .expect("opens")
            .prepare(&ids, &next.id())
            .expect_err("cannot");
        assert!(error.to_string().contains("MILLRACE_MASTER_KEY_OLD"));
        let command = MasterKeyConfig {
            command: Some("printf '%064d' 0".into()),
            ..MasterKeyConfig::default()
        };
        assert_eq!(
            KeyPlace::open(&command, &path, &ids).expect("opens").read().expect("reads").0.id(),
            MasterKey::new([0; 32]).id()
        );
        let command =
            MasterKeyConfig { command: Some("exit 3".into()), ..MasterKeyConfig::default() };
        assert!(
            KeyPlace::open(&command, &path, &ids)
                .expect("opens")
                .read()
                .expect_err("fails")
                .to_string()
                .contains("exit status: 3")
        );
    }
}
