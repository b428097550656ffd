//! Where the server is and with which key: flags, environment, then the configuration file's profile.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use crate::commands::{CliError, GlobalArgs};

/// A server and a key for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// `$XDG_CONFIG_HOME/millrace/config` or `~/.config/millrace/config` (reference 5).
fn path() -> Option<PathBuf> {
    let home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".config")))?;
    Some(home.join("millrace/config"))
}

fn read() -> Sections {
    path().and_then(|p| std::fs::read_to_string(p).ok()).map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with(';')) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.trim().to_owned();
        } else if let Some((key, value)) = line.split_once('=') {
            sections.entry(section.clone()).or_default().insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    sections
}

impl Profile {
    pub(crate) fn find(args: &GlobalArgs) -> Result<Self, CliError> {
        let sections = read();
        let name = args.profile.clone().unwrap_or_default();
        let empty = BTreeMap::new();
        let section = match sections.get(&name) {
            Some(section) => section,
            None if name.is_empty() => &empty,
            None => return Err(CliError::new(format!("there is no profile `{name}`"), "`millrace login --profile NAME` makes one")),
        };
        let url = args.url.clone().or_else(|| section.get("url").cloned()).unwrap_or_else(|| "http://127.0.0.1:8787".into());
        let api_key = args.api_key.clone().or_else(|| section.get("api_key").cloned()).ok_or_else(|| {
            CliError::new(
                "there is no API key".into(),
                "run `millrace login`, or set MILLRACE_API_KEY and MILLRACE_URL; the first key stands in credentials.json in the server's data directory",
            )
        })?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), api_key })
    }

    /// Keeps a profile, readable by its owner only.
    pub(crate) fn save(name: &str, profile: Option<&Self>) -> Result<PathBuf, CliError> {
        let failed = |e: std::io::Error| {
            CliError::new(format!("could not write the configuration: {e}"), "check that the folder of XDG_CONFIG_HOME or ~/.config can be written")
        };
        let path = path().ok_or_else(|| CliError::new("there is no home folder for the configuration".into(), "set HOME or XDG_CONFIG_HOME"))?;
        let mut sections = read();
        match profile {
            Some(profile) => {
                let section = sections.entry(name.to_owned()).or_default();
                section.insert("url".into(), profile.url.clone());
                section.insert("api_key".into(), profile.api_key.clone());
            }
            None => {
                sections.remove(name);
            }
        }
        let mut text = String::new();
        for (name, values) in &sections {
            if !name.is_empty() {
                text.push_str(&format!("[{name}]\n"));
            }
            values.iter().for_each(|(key, value)| text.push_str(&format!("{key} = {value}\n")));
        }
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        let mut file = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sections_are_profiles() {
        let sections = super::parse("api_key = a\n# c\n[work]\napi_key=b\nurl = http://x\n");
        assert_eq!(sections[""]["api_key"], "a");
        assert_eq!(sections["work"]["url"], "http://x");
    }
}
