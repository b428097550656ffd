//! Root folder of a project: the bound of the files that a deploy may upload.
//!
//! Code is often somebody else's: pulled from a server, cloned, downloaded. Its imports decide
//! which files are uploaded, so they reach nothing outside the project, and in it no secret of a
//! tool.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::is_taken;
use crate::error::CliError;
use crate::workflow::ids;

/// Files that make a folder a project, the home folder too: a person wrote them for this command
/// line.
const OWN_FILES: [&str; 2] = ["millrace.yaml", "millrace.yml"];
/// As these, of npm: in a home folder one is most often there by accident.
const NPM_FILE: &str = "package.json";
/// Folders of a component tree or a project; what holds the outermost of them is the root where no
/// file says so.
const LAYOUT: [&str; 5] = ["components", "sources", "actions", "common", "workflows"];

/// What made a folder the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RootKind {
    Pulled,
    Git,
    Project,
    Layout,
    Folder,
}

impl RootKind {
    const fn words(self) -> &'static str {
        match self {
            Self::Pulled => "the folder that was pulled from a server",
            Self::Git => "the git work tree",
            Self::Project => "the project",
            Self::Layout => "the folder of the components",
            Self::Folder => "the folder of the code",
        }
    }
}

/// The folder below which the files of a component or workflow lie.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// Without links.
    path: PathBuf,
    kind: RootKind,
    /// The folder that it was looked for from; dots in its own path are the person's choice.
    from: PathBuf,
}

/// Why a file that code names is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Outside,
    Dot,
    Kind,
}

/// A file that is not sent, for an error.
#[derive(Debug)]
pub(crate) struct OutOfReach {
    pub(crate) file: PathBuf,
    /// The code or YAML file that names it.
    pub(crate) by: PathBuf,
    pub(crate) root: PathBuf,
    kind: RootKind,
    why: Refused,
}

impl std::fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (file, by) = (self.file.display(), self.by.display());
        let (root, kind) = (self.root.display(), self.kind.words());
        write!(f, "`{file}`, which `{by}` names, is not sent: ")?;
        match self.why {
            Refused::Outside => write!(f, "it is outside of `{root}`, {kind}"),
            Refused::Dot => {
                write!(f, "below `{root}`, {kind}, names that begin with a dot are left out")
            }
            Refused::Kind => write!(
                f,
                "below `{root}`, {kind}, only files of code (.mjs .js .ts .json …) and data (.csv .txt .html .png …) are taken"
            ),
        }
    }
}

impl OutOfReach {
    pub(crate) const fn hint(&self) -> &'static str {
        match (self.why, self.kind) {
            (Refused::Outside, RootKind::Pulled) => {
                "copy the file into the folder if the workflow needs it; once you have read the code, removing `pulled` from .millrace.json makes the folder one of your own"
            }
            (Refused::Outside, RootKind::Git | RootKind::Project) => {
                "move the file below it, or take the import out of the code"
            }
            (Refused::Outside, _) => {
                "move the file below it, or write a millrace.yaml into the folder that holds both: it makes that folder the project"
            }
            (Refused::Dot | Refused::Kind, _) => {
                "give the file another name, or take the import out of the code"
            }
        }
    }
}

impl Root {
    /// The root of what lies in a folder: the pulled folder that it is in, else the git work tree,
    /// else the outermost folder with a project's file, else what holds a component tree, else the
    /// folder itself.
    pub(crate) fn of(folder: &Path) -> Result<Self, CliError> {
        Self::of_user(folder, std::env::home_dir().as_deref())
    }

    fn of_user(folder: &Path, home: Option<&Path>) -> Result<Self, CliError> {
        let failed = |source| CliError::Read { path: folder.to_path_buf(), source };
        let from = folder.canonicalize().map_err(failed)?;
        let owner = from.metadata().map_err(failed)?.uid();
        let home = home.and_then(|home| home.canonicalize().ok());
        // A home folder that is a checkout of dotfiles, or has a stray package.json, is no project.
        let is_home = |path: &Path| home.as_deref().is_some_and(|home| home.starts_with(path));
        // Another user may put a file into a folder above, such as `/tmp`.
        let is_own = |path: &Path| path.metadata().is_ok_and(|found| found.uid() == owner);
        let may_be = |path: &&Path| path.parent().is_some() && !is_home(path) && is_own(path);
        let root =
            |path: &Path, kind| Ok(Self { path: path.to_path_buf(), kind, from: from.clone() });
        if let Some(pulled) = from.ancestors().find(|path| ids::is_pulled(path)) {
            return root(pulled, RootKind::Pulled);
        }
        if let Some(tree) = from.ancestors().filter(may_be).find(|p| p.join(".git").exists()) {
            return root(tree, RootKind::Git);
        }
        let is_project = |path: &&Path| {
            OWN_FILES.iter().any(|name| is_own(path) && path.join(name).is_file())
                || (may_be(path) && path.join(NPM_FILE).is_file())
        };
        if let Some(project) = from.ancestors().filter(is_project).last() {
            return root(project, RootKind::Project);
        }
        let is_layout = |path: &&Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            LAYOUT.contains(&name)
        };
        let holder = from.ancestors().take_while(|path| !is_home(path)).filter(is_layout);
        match holder.filter_map(Path::parent).filter(may_be).last() {
            Some(tree) => root(tree, RootKind::Layout),
            None => root(&from, RootKind::Folder),
        }
    }

    /// Whether a folder lies below the root, also after links are resolved.
    pub(crate) fn holds_folder(&self, folder: &Path) -> bool {
        let is_below = |path: &Path| path.starts_with(&self.path);
        is_below(folder) && folder.canonicalize().is_ok_and(|real| is_below(&real))
    }

    /// Refuses a file that another file names: outside of the root, also by a link, with a part
    /// that begins with a dot, or neither code nor data.
    pub(crate) fn check(&self, file: &Path, by: &Path) -> Result<(), CliError> {
        let real = file
            .canonicalize()
            .map_err(|source| CliError::Read { path: file.to_path_buf(), source })?;
        let problem = [file, &real].into_iter().find_map(|path| self.problem(path));
        match problem {
            None => Ok(()),
            Some(why) => Err(CliError::OutOfReach(Box::new(OutOfReach {
                file: real,
                by: by.to_path_buf(),
                root: self.path.clone(),
                kind: self.kind,
                why,
            }))),
        }
    }

    fn problem(&self, path: &Path) -> Option<Refused> {
        if !path.starts_with(&self.path) {
            return Some(Refused::Outside);
        }
        let shared = self.from.ancestors().find(|folder| path.starts_with(folder));
        let below = shared.and_then(|shared| path.strip_prefix(shared).ok()).unwrap_or(path);
        let is_dot = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if below.components().any(is_dot) {
            return Some(Refused::Dot);
        }
        (!is_taken(path)).then_some(Refused::Kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    fn root_of(top: &Path, folder: &str, home: &str) -> (PathBuf, RootKind) {
        let top = top.canonicalize().expect("is there");
        let root = Root::of_user(&top.join(folder), Some(&top.join(home))).expect("is there");
        (root.path.strip_prefix(&top).expect("is below").to_path_buf(), root.kind)
    }

    #[test]
    fn the_root_is_the_project_that_a_folder_is_in() {
        let folder = folder_with(&[
            ("home/package.json", "{}"),
            ("home/.git/HEAD", ""),
            ("home/bare/steps/a.mjs", ""),
            ("home/repo/.git/HEAD", ""),
            ("home/repo/components/acme/package.json", "{}"),
            ("home/repo/components/acme/sources/x/x.mjs", ""),
            ("home/repo/got/.millrace.json", r#"{"pulled":{"workflow.yaml":"http://a"}}"#),
            ("home/repo/got/steps/a.mjs", ""),
            ("home/repo/made/.millrace.json", r#"{"http://a":{"workflow.yaml":"p_1"}}"#),
            ("home/npm/package.json", "{}"),
            ("home/npm/components/acme/package.json", "{}"),
            ("home/shop/millrace.yaml", ""),
            ("home/shop/workflows/w/workflow.yaml", ""),
            ("home/tree/components/acme/actions/a/a.mjs", ""),
            ("home/app/actions/common/a.mjs", ""),
            ("home/common/x/a.mjs", ""),
        ]);
        for (of, path, kind) in [
            ("home/bare/steps", "home/bare/steps", RootKind::Folder),
            ("home", "home", RootKind::Folder),
            ("home/repo/components/acme/sources/x", "home/repo", RootKind::Git),
            ("home/repo/got", "home/repo/got", RootKind::Pulled),
            ("home/repo/got/steps", "home/repo/got", RootKind::Pulled),
            ("home/repo/made", "home/repo", RootKind::Git),
            ("home/npm/components/acme", "home/npm", RootKind::Project),
            ("home/shop/workflows/w", "home/shop", RootKind::Project),
            ("home/tree/components/acme/actions/a", "home/tree", RootKind::Layout),
            ("home/app/actions/common", "home/app", RootKind::Layout),
            ("home/common/x", "home/common/x", RootKind::Folder),
        ] {
            assert_eq!(root_of(folder.path(), of, "home"), (path.into(), kind), "{of}");
        }
        std::fs::write(folder.path().join("home/millrace.yaml"), "").expect("writes");
        assert_eq!(
            root_of(folder.path(), "home/common/x", "home"),
            ("home".into(), RootKind::Project)
        );
    }

    #[test]
    fn what_leads_out_or_is_hidden_or_no_code_is_refused() {
        let folder = folder_with(&[
            ("p/.git/HEAD", ""),
            ("p/.hidden/c/a.mjs", ""),
            ("p/.hidden/c/b.mjs", ""),
            ("p/.hidden/x.json", ""),
            ("p/.env.json", ""),
            ("p/lib/a.mjs", ""),
            ("p/lib/id_rsa", ""),
            ("out.mjs", ""),
        ]);
        let top = folder.path().canonicalize().expect("is there");
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(top.join(to), top.join(at)).expect("links");
        };
        link("out.mjs", "p/lib/out.mjs");
        link("p/lib/id_rsa", "p/lib/key.txt");
        link("p/.env.json", "p/lib/env.json");
        link("p/lib/a.mjs", "p/lib/same.mjs");
        link("p/lib", "back");
        let root = Root::of_user(&top.join("p/.hidden/c"), None).expect("is there");
        let why = |file: &str| match root.check(&top.join(file), Path::new("by.mjs")) {
            Ok(()) => None,
            Err(CliError::OutOfReach(error)) => Some(error.why),
            Err(error) => panic!("{file}: {error}"),
        };
        for (file, expected) in [
            ("p/lib/a.mjs", None),
            ("p/lib/same.mjs", None),
            ("p/.hidden/c/b.mjs", None),
            ("p/.hidden/x.json", None),
            ("p/.env.json", Some(Refused::Dot)),
            ("p/.git/HEAD", Some(Refused::Dot)),
            ("p/lib/env.json", Some(Refused::Dot)),
            ("p/lib/id_rsa", Some(Refused::Kind)),
            ("p/lib/key.txt", Some(Refused::Kind)),
            ("p/lib/out.mjs", Some(Refused::Outside)),
            ("out.mjs", Some(Refused::Outside)),
            ("back/a.mjs", Some(Refused::Outside)),
        ] {
            assert_eq!(why(file), expected, "{file}");
        }
        let error = root.check(&top.join("out.mjs"), Path::new("by.mjs")).expect_err("refuses");
        let text = error.to_string();
        assert!(
            text.contains("out.mjs`, which `by.mjs` names, is not sent")
                && text.contains(&format!("`{}`, the git work tree", top.join("p").display()))
                && error.hint().is_some(),
            "{text}"
        );
    }
}
