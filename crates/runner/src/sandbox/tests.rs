//! What is left to rules and folders; the walls themselves are tried by processes, in `tests/it`.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::types::{ModuleSpec, StartError};

#[test]
fn a_required_wall_that_is_missing_is_named_with_the_way_out() {
    let found = WallReport { landlock_abi: None, seccomp: true, egress: true };
    let error = check(Walls::Required, found).expect_err("refuses");
    assert!(matches!(&error, StartError::WallMissing { missing } if missing.starts_with("Landlock")));
    assert!(error.to_string().contains("--sandbox=best-effort"), "{error}");
    assert!(check(Walls::Required, WallReport::NONE).expect_err("refuses").to_string().contains("seccomp-bpf"));
    assert_eq!(check(Walls::BestEffort, found).ok(), Some(found));
    assert_eq!(check(Walls::Off, WallReport { landlock_abi: Some(7), seccomp: true, egress: true }).ok(), Some(WallReport::NONE));
}

#[test]
fn modules_of_one_name_come_in_beside_each_other_with_their_maps() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut modules = Vec::new();
    for n in ["a", "b"] {
        let path = dir.path().join(n).join("m.mjs");
        std::fs::create_dir(path.parent().expect("a parent")).expect("makes");
        std::fs::write(&path, n).expect("writes");
        modules.push(ModuleSpec { name: n.into(), path });
    }
    std::fs::write(dir.path().join("a/m.mjs.map"), "map").expect("writes");
    let private = Private::new(dir.path()).expect("a folder");
    let paths = private.admit(&modules).expect("links");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!((text(&paths[0]), text(&paths[1])), ("a".into(), "b".into()));
    assert_eq!((text(&paths[0].with_extension("mjs.map")), text(&paths[1].with_extension("mjs.map"))), ("map".into(), String::new()));
    assert_eq!(std::fs::metadata(&paths[0]).expect("reads").permissions().mode() & 0o777, 0o400);
    let missing = ModuleSpec { name: "c".into(), path: dir.path().join("none.mjs") };
    assert!(Private::new(dir.path()).expect("a folder").admit(&[missing]).is_err());
}

#[test]
fn a_folder_that_is_deep_wide_and_closed_is_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let private = Private::new(dir.path()).expect("a folder");
    // Deeper than descriptors and the stack allow to descend: the top is put below new folders again and again.
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
    std::fs::set_permissions(tmp.join("closed"), std::fs::Permissions::from_mode(0o000)).expect("closes");
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
    let is_there = ["file", "deep/file"].iter().all(|file| std::fs::metadata(outside.join(file)).is_ok_and(|meta| meta.len() == 100_000));
    is_there && std::fs::metadata(outside).is_ok_and(|meta| meta.permissions().mode() & 0o777 == 0o751)
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
        std::os::unix::fs::symlink("link", at.join("link to a link")).expect("links");
        std::os::unix::fs::symlink("..", at.join("up")).expect("links");
        std::os::unix::fs::symlink("none", at.join("dangling")).expect("links");
        std::fs::hard_link(outside.join("file"), at.join("hard")).expect("links");
        rustix::fs::mknodat(CWD, at.join("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("makes");
        drop(std::os::unix::net::UnixListener::bind(at.join("socket")).expect("binds"));
    }
    let Usage::Bytes(bytes) = Private::usage(&tmp, None) else { panic!("uncountable") };
    assert!((200_000..300_000).contains(&bytes), "the file of two names is counted for each, and nothing else: {bytes}");
    drop(private);
    assert_eq!(std::fs::read_dir(&scratch).expect("reads").count(), 0);
    assert!(is_whole(&outside), "a link was followed");
}

/// What is a folder when it is listed may be a link when it is entered.
#[test]
fn a_folder_that_becomes_a_link_under_way_leads_nowhere() {
    let dir = tempfile::tempdir().expect("a folder");
    let outside = outside(dir.path());
    let tmp = dir.path().join("tmp");
    std::fs::create_dir(&tmp).expect("makes");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // By turns a folder and a link, until all is over.
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let place = tmp.join("turns");
                let _ = std::fs::create_dir_all(place.join("deep"));
                let _ = std::fs::rename(&place, tmp.join("aside"));
                let _ = std::os::unix::fs::symlink(&outside, &place);
                let _ = std::fs::remove_file(&place);
            }
        });
        for _ in 0..300 {
            Private::usage(&tmp, None);
            // What it finds there changes under it: that it fails is no harm.
            let _ = clear(&tmp);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(is_whole(&outside), "a link was followed");
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
