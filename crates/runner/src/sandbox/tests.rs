//! Tests of the rules and folders of the sandbox; processes test the walls themselves, in
//! `tests/it`.

use std::os::unix::fs::PermissionsExt as _;

use millrace_walls::folders::{clear, clear_while};

use super::private::step_by_step;
use super::*;
use crate::types::{ModuleSpec, StartError};

#[test]
fn a_required_wall_that_is_missing_is_named_with_the_way_out() {
    let found = WallReport { landlock_abi: None, seccomp: true, egress: true };
    let error = check(Walls::Required, found).expect_err("refuses");
    assert!(
        matches!(&error, StartError::WallMissing { missing } if missing.starts_with("Landlock"))
    );
    assert!(error.to_string().contains("--sandbox=best-effort"), "{error}");
    assert!(
        check(Walls::Required, WallReport::NONE)
            .expect_err("refuses")
            .to_string()
            .contains("seccomp-bpf")
    );
    assert_eq!(check(Walls::BestEffort, found).ok(), Some(found));
    assert_eq!(
        check(Walls::Off, WallReport { landlock_abi: Some(7), seccomp: true, egress: true }).ok(),
        Some(WallReport::NONE)
    );
}

#[test]
fn modules_of_one_name_come_in_beside_each_other_with_their_maps() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut modules = Vec::new();
    for n in ["a", "b"] {
        let path = dir.path().join(n).join("m.mjs");
        std::fs::create_dir(path.parent().expect("a parent")).expect("makes");
        std::fs::write(&path, n).expect("writes");
        modules.push(ModuleSpec { name: n.into(), path, packages: None });
    }
    std::fs::write(dir.path().join("a/m.mjs.map"), "map").expect("writes");
    let private = Private::new(dir.path()).expect("a folder");
    let paths = private.admit(&modules).expect("links");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!((text(&paths[0]), text(&paths[1])), ("a".into(), "b".into()));
    assert_eq!(
        (text(&paths[0].with_extension("mjs.map")), text(&paths[1].with_extension("mjs.map"))),
        ("map".into(), String::new())
    );
    assert_eq!(std::fs::metadata(&paths[0]).expect("reads").permissions().mode() & 0o777, 0o400);
    let missing =
        ModuleSpec { name: "c".into(), path: dir.path().join("none.mjs"), packages: None };
    assert!(Private::new(dir.path()).expect("a folder").admit(&[missing]).is_err());
}

#[test]
fn a_folder_that_is_deep_wide_and_closed_is_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let private = Private::new(dir.path()).expect("a folder");
    // Deeper than descriptors and the stack allow to descend: the top is put below new folders
    // again and again.
    let (tmp, mut deep) = (private.tmp().to_owned(), dir.path().join("deep"));
    std::fs::create_dir(&deep).expect("makes");
    for n in 0..5000 {
        let outer = dir.path().join(format!("outer-{n}"));
        std::fs::create_dir(&outer).expect("makes");
        std::fs::rename(&deep, outer.join("d")).expect("moves");
        deep = outer;
    }
    std::fs::rename(&deep, tmp.join("deep")).expect("moves");
    for n in 0..500 {
        std::fs::write(tmp.join(format!("file-{n}")), "x").expect("writes");
    }
    std::fs::create_dir(tmp.join("closed")).expect("makes");
    std::fs::write(tmp.join("closed/file"), "x").expect("writes");
    std::os::unix::fs::symlink("/etc", tmp.join("link")).expect("links");
    std::fs::set_permissions(tmp.join("closed"), std::fs::Permissions::from_mode(0o000))
        .expect("closes");
    assert_eq!(Private::usage(&tmp, None), Usage::Uncountable);
    drop(private);
    assert_eq!(std::fs::read_dir(dir.path()).expect("reads").count(), 0);
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn what_is_kept_is_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let private = Private::new(dir.path()).expect("a folder");
    std::fs::create_dir(private.tmp().join("d")).expect("makes");
    std::fs::write(private.tmp().join("d/f"), vec![1; 100_000]).expect("writes");
    let Usage::Bytes(bytes) = Private::usage(private.tmp(), None) else { panic!("uncountable") };
    assert!((100_000..200_000).contains(&bytes), "{bytes}");
}

/// A folder of the server's, with a file, that a host's folder has links to.
fn outside(dir: &Path) -> std::path::PathBuf {
    let outside = dir.join("outside");
    std::fs::create_dir_all(outside.join("deep")).expect("makes");
    for file in ["file", "deep/file"] {
        std::fs::write(outside.join(file), vec![1; 100_000]).expect("writes");
    }
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o751)).expect("sets");
    outside
}

fn is_whole(outside: &Path) -> bool {
    let is_there = ["file", "deep/file"]
        .iter()
        .all(|file| std::fs::metadata(outside.join(file)).is_ok_and(|meta| meta.len() == 100_000));
    is_there
        && std::fs::metadata(outside).is_ok_and(|meta| meta.permissions().mode() & 0o777 == 0o751)
}

#[test]
fn links_pipes_and_sockets_are_removed_and_lead_nowhere() {
    use rustix::fs::{CWD, FileType, Mode};
    let dir = tempfile::tempdir().expect("a folder");
    let outside = outside(dir.path());
    let scratch = dir.path().join("hosts");
    std::fs::create_dir(&scratch).expect("makes");
    let private = Private::new(&scratch).expect("a folder");
    let tmp = private.tmp().to_owned();
    std::fs::create_dir(tmp.join("folder")).expect("makes");
    for at in [&tmp, &tmp.join("folder")] {
        std::os::unix::fs::symlink(&outside, at.join("link")).expect("links");
        std::os::unix::fs::symlink(outside.join("file"), at.join("link to a file")).expect("links");
        std::os::unix::fs::symlink("link", at.join("link to a link")).expect("links");
        std::os::unix::fs::symlink("..", at.join("up")).expect("links");
        std::os::unix::fs::symlink("none", at.join("dangling")).expect("links");
        std::fs::hard_link(outside.join("file"), at.join("hard")).expect("links");
        rustix::fs::mknodat(CWD, at.join("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("makes");
        drop(std::os::unix::net::UnixListener::bind(at.join("socket")).expect("binds"));
    }
    let Usage::Bytes(bytes) = Private::usage(&tmp, None) else { panic!("uncountable") };
    assert!(
        (200_000..300_000).contains(&bytes),
        "the file of two names is counted for each, and nothing else: {bytes}"
    );
    drop(private);
    assert_eq!(std::fs::read_dir(&scratch).expect("reads").count(), 0);
    assert!(is_whole(&outside), "a link was followed");
}

/// Each folder of a host's that may become a link under way, and where the link then leads.
const TURNS: [(&str, &str); 2] = [("turns", "outside"), ("turns/deep", "outside/deep")];

/// Two folders in each other; the attack takes one of them away and puts a link into its place at
/// the `nth` instant that is left to it.
struct Race {
    dir: tempfile::TempDir,
    left: usize,
    turn: (&'static str, &'static str),
}

impl Race {
    fn prepare(nth: usize, turn: (&'static str, &'static str)) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        outside(dir.path());
        std::fs::create_dir_all(dir.path().join("tmp/turns/deep")).expect("makes");
        Self { dir, left: nth + 1, turn }
    }

    fn tmp(&self) -> std::path::PathBuf {
        self.dir.path().join("tmp")
    }

    fn meanwhile(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        let (place, aside) = (self.tmp().join(self.turn.0), self.dir.path().join("aside"));
        // It may be gone by now, or be the link already.
        if std::fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir())
            && std::fs::rename(&place, aside).is_ok()
        {
            std::os::unix::fs::symlink(self.dir.path().join(self.turn.1), &place).expect("links");
        }
    }

    /// Whether the attack had its instant.
    fn is_over(&self) -> bool {
        self.left > 0
    }

    fn assert_harmless(&self, nth: usize) {
        assert!(
            is_whole(&self.dir.path().join("outside")),
            "a link was followed: {} at instant {nth}",
            self.turn.0
        );
    }
}

/// It has another name whenever it is to be entered.
#[test]
fn a_folder_that_is_renamed_under_way_is_counted_all_the_same() {
    let dir = tempfile::tempdir().expect("a folder");
    let name = |n: u32| dir.path().join(format!("name-{n}"));
    for part in ["", "deep"] {
        std::fs::create_dir(name(0).join(part)).expect("makes");
        std::fs::write(name(0).join(part).join("file"), vec![1; 100_000]).expect("writes");
    }
    let mut n = 0;
    let usage = Private::usage_while(dir.path(), None, || {
        std::fs::rename(name(n), name(n + 1)).expect("renames");
        n += 1;
    });
    let Usage::Bytes(bytes) = usage else { panic!("uncountable") };
    assert!((200_000..400_000).contains(&bytes), "{bytes}");
}

/// Who makes and removes folders all the time does nothing wrong.
#[test]
fn a_folder_that_is_removed_under_way_is_not_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let name = |n: u32| dir.path().join(format!("name-{n}"));
    std::fs::create_dir(name(0)).expect("makes");
    std::fs::write(dir.path().join("file"), vec![1; 100_000]).expect("writes");
    let mut n = 0;
    let usage = Private::usage_while(dir.path(), None, || {
        std::fs::remove_dir(name(n)).expect("removes");
        std::fs::create_dir(name(n + 1)).expect("makes");
        n += 1;
    });
    let Usage::Bytes(bytes) = usage else { panic!("uncountable") };
    assert!((100_000..200_000).contains(&bytes), "{bytes}");
}

/// What is a folder when it is listed may be a link when it is entered: at every instant there is.
#[test]
fn a_folder_that_becomes_a_link_under_way_is_not_counted() {
    for (turn, instants) in TURNS.into_iter().zip([3, 3]) {
        let mut nth = 0;
        loop {
            let mut race = Race::prepare(nth, turn);
            let usage = Private::usage_while(&race.tmp(), None, || race.meanwhile());
            if race.is_over() {
                break;
            }
            // Folders themselves take a few blocks; a file outside takes a hundred thousand bytes.
            let Usage::Bytes(bytes) = usage else {
                panic!("uncountable: {} at instant {nth}", turn.0)
            };
            assert!(bytes < 100_000, "a link was followed: {} at instant {nth}: {bytes}", turn.0);
            race.assert_harmless(nth);
            nth += 1;
        }
        assert_eq!(nth, instants, "instants of {}", turn.0);
    }
}

#[test]
fn a_folder_that_becomes_a_link_under_way_is_not_cleared() {
    for turn in TURNS {
        let mut nth = 0;
        loop {
            let mut race = Race::prepare(nth, turn);
            let cleared = clear_while(&race.tmp(), || race.meanwhile());
            if race.is_over() {
                break;
            }
            race.assert_harmless(nth);
            // A link is a thing to remove, and no reason to leave off.
            cleared.unwrap_or_else(|error| panic!("{} at instant {nth}: {error}", turn.0));
            assert_eq!(
                std::fs::read_dir(race.tmp()).expect("reads").count(),
                0,
                "{} at instant {nth}",
                turn.0
            );
            nth += 1;
        }
        assert!(nth >= 3, "the folder, what is in it, and its moving each leave an instant: {nth}");
    }
}

/// Where the kernel cannot be told to follow no link at all, each step is looked at.
#[test]
fn no_step_of_a_path_follows_a_link() {
    use rustix::fs::{CWD, Mode, OFlags};
    let dir = tempfile::tempdir().expect("a folder");
    outside(dir.path());
    std::fs::create_dir_all(dir.path().join("tmp/folder/deep")).expect("makes");
    std::os::unix::fs::symlink(dir.path().join("outside"), dir.path().join("tmp/link"))
        .expect("links");
    std::os::unix::fs::symlink(dir.path().join("outside"), dir.path().join("tmp/folder/link"))
        .expect("links");
    let root = rustix::fs::openat(
        CWD,
        dir.path().join("tmp"),
        OFlags::RDONLY | OFlags::DIRECTORY,
        Mode::empty(),
    )
    .expect("opens");
    for whole in [".", "folder", "folder/deep"] {
        assert!(step_by_step(&root, whole.as_bytes()).is_ok(), "{whole}");
    }
    for led in ["link", "link/deep", "folder/link", "folder/link/deep"] {
        assert!(step_by_step(&root, led.as_bytes()).is_err(), "{led}");
    }
}

#[test]
fn what_was_broken_off_is_ended_the_next_time() {
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["a/b/c", ".moved-1/x/y", ".moved-2"] {
        std::fs::create_dir_all(dir.path().join(name)).expect("makes");
    }
    std::fs::write(dir.path().join(".moved-3"), "x").expect("writes");
    clear(dir.path()).expect("clears");
    assert_eq!(std::fs::read_dir(dir.path()).expect("reads").count(), 0);
}
