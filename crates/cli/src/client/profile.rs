//! Address of the server and key: from flags, the environment, then the configuration file's
//! profile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::args::GlobalArgs;
use crate::client::ANSWER_TIMEOUT;
use crate::error::CliError;
use crate::files::whole;

/// Where a server listens when nothing else is said.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8787";

/// A server and a key for it.
#[derive(Clone, Default)]
pub(crate) struct Profile {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

impl Profile {
    /// Its server did not answer in time. A connection that is not made has a time of its own.
    pub(crate) fn silent(&self) -> CliError {
        CliError::Silent { url: self.url.clone(), secs: ANSWER_TIMEOUT.as_secs() }
    }
}

/// What the profile without a name is called.
const DEFAULT_NAME: &str = "default";
/// Names, before the first section, the profile that is used where none is named.
const USED: &str = "profile";

/// The section of a profile.
fn named(name: &str) -> &str {
    if name == DEFAULT_NAME { "" } else { name }
}

type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// `$XDG_CONFIG_HOME/millrace/config` or `~/.config/millrace/config` (reference 5).
pub(crate) fn path() -> Result<PathBuf, CliError> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    Ok(folder.or_else(home).ok_or(CliError::NoHome)?.join("millrace/config"))
}

/// Keys of a section.
const KEYS: [&str; 3] = ["url", "api_key", "org_id"];

/// INI: keys before the first section belong to the profile without a name. An error is the number
/// of a line and what is wrong with it, without its value: that may be a key.
fn parse(text: &str) -> Result<Sections, (usize, String)> {
    let mut sections = Sections::new();
    let mut section = String::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
            sections.entry(section.clone()).or_default();
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| {
            (number, "it is neither `NAME = VALUE`, `[PROFILE]` nor a comment".to_owned())
        })?;
        let key = key.trim();
        let is_known = KEYS.contains(&key) || (key == USED && section.is_empty());
        if !is_known {
            let allowed = format!(
                "allowed are `{}`, and `{USED}` before the first profile",
                KEYS.join("`, `")
            );
            let key = millrace_model::shown(key);
            return Err((number, format!("there is no setting `{key}`; {allowed}")));
        }
        let values = sections.entry(section.clone()).or_default();
        values.insert(key.to_owned(), value.trim().to_owned());
    }
    Ok(sections)
}

fn format(sections: &Sections) -> String {
    let mut text = String::new();
    for (name, values) in sections {
        if !name.is_empty() {
            text.push_str(&format!("[{name}]\n"));
        }
        for (key, value) in values {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

fn read(path: &Path) -> Result<Sections, CliError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).map_err(|(line, problem)| CliError::ConfigFile {
            path: path.to_path_buf(),
            line,
            problem,
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Sections::new()),
        Err(source) => Err(CliError::Read { path: path.to_path_buf(), source }),
    }
}

/// An address as requests need it: with a scheme, without the last slash.
pub(crate) fn check_url(text: &str) -> Result<String, CliError> {
    let wrong = || CliError::Usage {
        message: format!("`{text}` is not the address of a server"),
        hint: "an address is such as http://127.0.0.1:8787 or https://millrace.example.com",
    };
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong());
    }
    // They would take the place of the key in each request.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(CliError::Usage {
            message: "the address of the server has a user or a password, which is not allowed"
                .into(),
            hint: "name the address without them, and give the API key with `millrace login` or MILLRACE_API_KEY",
        });
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// The name of the profile that a command means.
fn in_force<'a>(args: &'a GlobalArgs, sections: &'a Sections) -> &'a str {
    let used = sections.get("").and_then(|s| s.get(USED)).map(String::as_str);
    args.profile.as_deref().filter(|n| !n.is_empty()).or(used).map_or("", named)
}

impl Profile {
    /// The name of the profile that is kept or forgotten.
    pub(crate) fn name(args: &GlobalArgs) -> Result<String, CliError> {
        Ok(in_force(args, &read(&path()?)?).to_owned())
    }

    pub(crate) fn find(args: &GlobalArgs) -> Result<Self, CliError> {
        let sections = match path() {
            Ok(path) => read(&path),
            Err(_) => Ok(Sections::new()),
        };
        // Flags and environment may say all there is to say.
        let says_all = args.profile.is_none() && args.url.is_some() && args.api_key.is_some();
        let sections = match sections {
            Err(_) if says_all => Sections::new(),
            sections => sections?,
        };
        Self::choose(args, &sections)
    }

    fn choose(args: &GlobalArgs, sections: &Sections) -> Result<Self, CliError> {
        let name = in_force(args, sections);
        let section = sections.get(name);
        if section.is_none() && !name.is_empty() {
            return Err(CliError::NoProfile(name.to_owned()));
        }
        let kept = |key: &str| section.and_then(|s| s.get(key)).cloned();
        let given = |value: &Option<String>| value.clone().filter(|v| !v.is_empty());
        let url =
            given(&args.url).or_else(|| kept("url")).unwrap_or_else(|| DEFAULT_URL.to_owned());
        let api_key = given(&args.api_key).or_else(|| kept("api_key")).ok_or(CliError::NoKey)?;
        Ok(Self { url: check_url(&url)?, api_key })
    }

    /// All profiles: name, address, and whether it is the one that is used. Never their keys.
    pub(crate) fn list(path: &Path) -> Result<Vec<(String, String, bool)>, CliError> {
        let sections = read(path)?;
        let used = sections.get("").and_then(|s| s.get(USED)).cloned().unwrap_or_default();
        let kept = sections.iter().filter(|(_, values)| values.contains_key("api_key"));
        let shown = |(name, values): (&String, &BTreeMap<String, String>)| {
            let url = values.get("url").cloned().unwrap_or_else(|| DEFAULT_URL.to_owned());
            (
                if name.is_empty() { DEFAULT_NAME.to_owned() } else { name.clone() },
                url,
                *name == used,
            )
        };
        Ok(kept.map(shown).collect())
    }

    /// Uses a profile from now on, where none is named.
    pub(crate) fn use_from_now(path: &Path, name: &str) -> Result<(), CliError> {
        let mut sections = read(path)?;
        let name = named(name);
        if !sections.contains_key(name) {
            return Err(CliError::NoProfile(name.to_owned()));
        }
        let head = sections.entry(String::new()).or_default();
        if name.is_empty() {
            head.remove(USED);
        } else {
            head.insert(USED.to_owned(), name.to_owned());
        }
        write(path, &sections)
    }

    /// Keeps a profile; `org_id` is what `{org}` stands for in examples.
    pub(crate) fn save(&self, path: &Path, name: &str, org_id: &str) -> Result<(), CliError> {
        let mut sections = read(path)?;
        let section = sections.entry(named(name).to_owned()).or_default();
        for (key, value) in
            [("url", self.url.as_str()), ("api_key", &self.api_key), ("org_id", org_id)]
        {
            section.insert(key.to_owned(), value.to_owned());
        }
        write(path, &sections)
    }

    /// Forgets a profile. Gives whether there was a key in it.
    pub(crate) fn remove(path: &Path, name: &str) -> Result<bool, CliError> {
        let mut sections = read(path)?;
        let name = named(name);
        let had_key = sections.get(name).is_some_and(|values| values.contains_key("api_key"));
        let used = sections.get("").and_then(|s| s.get(USED)).cloned().filter(|used| used != name);
        if sections.remove(name).is_none() {
            return if name.is_empty() {
                Ok(false)
            } else {
                Err(CliError::NoProfile(name.to_owned()))
            };
        }
        if let Some(used) = used {
            // Which one is used stands in the section without a name.
            sections.entry(String::new()).or_default().insert(USED.to_owned(), used);
        }
        if let Some(head) = sections.get_mut("")
            && head.get(USED).is_some_and(|used| used == name)
        {
            head.remove(USED);
        }
        write(path, &sections)?;
        Ok(had_key)
    }
}

/// Readable by the owner only, whatever the file was before.
fn write(path: &Path, sections: &Sections) -> Result<(), CliError> {
    whole::write_private(path, format(sections).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn sections_are_profiles() {
        let sections =
            parse("api_key = a\n# c\n[work]\napi_key=b=\nurl = http://x\n").expect("reads");
        assert_eq!(sections[""]["api_key"], "a");
        assert_eq!(sections["work"]["api_key"], "b=");
        assert_eq!(parse(&format(&sections)), Ok(sections));
    }

    #[test]
    fn a_line_that_says_nothing_is_named_without_its_value() {
        let wrong = |text: &str| parse(text).expect_err("is wrong");
        let (line, problem) = wrong("url = http://x\n\napi-key = mr_secret\n");
        assert!(line == 3 && problem.contains("no setting `api-key`"), "{line} {problem}");
        assert!(!problem.contains("mr_secret") && problem.contains("`api_key`"), "{problem}");
        let (line, problem) = wrong("[work]\nmr_secret\n");
        assert!(line == 2 && !problem.contains("mr_secret"), "{line} {problem}");
        assert_eq!(wrong("[work]\nprofile = a\n").0, 2, "it is no setting of a profile");
    }

    #[test]
    fn an_address_holds_no_credentials() {
        assert_eq!(check_url("https://a.example/x/").ok().as_deref(), Some("https://a.example/x"));
        for wrong in ["http://u:p@a.example", "http://u@a.example", "ftp://a.example", "a.example"]
        {
            assert!(check_url(wrong).is_err_and(|error| error.exit_status() == 2), "{wrong}");
        }
    }

    #[test]
    fn flags_win_over_the_profile() {
        let sections = parse("api_key = a\n[work]\napi_key = b\nurl = http://x/\n").expect("reads");
        let chosen = |profile: Option<&str>, api_key: Option<&str>| {
            let args = GlobalArgs {
                profile: profile.map(Into::into),
                api_key: api_key.map(Into::into),
                ..GlobalArgs::default()
            };
            Profile::choose(&args, &sections).map(|p| (p.url, p.api_key)).map_err(|e| e.to_string())
        };
        assert_eq!(chosen(None, None), Ok((DEFAULT_URL.into(), "a".into())));
        assert_eq!(chosen(Some("work"), None), Ok(("http://x".into(), "b".into())));
        assert_eq!(chosen(Some("work"), Some("c")), Ok(("http://x".into(), "c".into())));
        assert_eq!(chosen(Some("no"), None), Err("there is no profile `no`".into()));
    }

    #[test]
    fn a_kept_key_is_private_and_can_be_forgotten() {
        let dir = std::env::temp_dir().join(format!("millrace-profile-{}", std::process::id()));
        let path = dir.join("config");
        let profile = Profile { url: "http://x".into(), api_key: "k".into() };
        profile.save(&path, "", "o_1").expect("saves");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("sets");
        profile.save(&path, "work", "o_1").expect("saves");
        assert_eq!(std::fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
        assert!(Profile::remove(&path, "").expect("removes"));
        assert!(!Profile::remove(&path, "").expect("has nothing to remove"));
        assert_eq!(read(&path).expect("reads").keys().collect::<Vec<_>>(), ["work"]);
        std::fs::remove_dir_all(dir).expect("cleans");
    }

    #[test]
    fn a_profile_can_be_used_from_now_on() {
        let dir = std::env::temp_dir().join(format!("millrace-use-{}", std::process::id()));
        let path = dir.join("config");
        for (name, key) in [("", "a"), ("work", "b")] {
            Profile { url: format!("http://{key}"), api_key: key.into() }
                .save(&path, name, "o_1")
                .expect("saves");
        }
        let chosen = |profile: Option<&str>| {
            let args = GlobalArgs { profile: profile.map(Into::into), ..GlobalArgs::default() };
            Profile::choose(&args, &read(&path).expect("reads")).map(|p| p.api_key).expect("a key")
        };
        Profile::use_from_now(&path, "work").expect("uses");
        assert_eq!((chosen(None).as_str(), chosen(Some("default")).as_str()), ("b", "a"));
        assert_eq!(
            Profile::list(&path).expect("lists"),
            [
                ("default".into(), "http://a".into(), false),
                ("work".into(), "http://b".into(), true)
            ]
        );
        assert!(matches!(Profile::use_from_now(&path, "no"), Err(CliError::NoProfile(_))));
        Profile::remove(&path, "work").expect("removes");
        assert_eq!(chosen(None), "a");
        std::fs::remove_dir_all(dir).expect("cleans");
    }
}
