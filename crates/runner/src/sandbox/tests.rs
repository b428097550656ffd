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
