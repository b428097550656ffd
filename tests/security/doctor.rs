//! `millrace doctor`: what it finds, what it says to mend, and that it changes nothing.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use millrace_tests::cluster::cluster;
use millrace_tests::smtp::{Encrypts, MailServer};
use millrace_tests::{NOBODY, Server, binary};
use serde_json::Value;

/// Its exit status and what it says; the server's variables of this process are not its own.
fn doctor(data_dir: &Path, args: &[&str]) -> (Option<i32>, Value) {
    told(Command::new(binary()), data_dir, args)
}

fn told(mut program: Command, data_dir: &Path, args: &[&str]) -> (Option<i32>, Value) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MILLRACE_")) {
        program.env_remove(name);
    }
    let output = program
        .args(["doctor", "--json", "--data-dir"])
        .arg(data_dir)
        .args(args)
        .output()
        .expect("starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

/// The program as the user that a server runs as, ended after a minute.
fn as_its_user(server: &Server) -> Command {
    let copy = server.data_dir().with_file_name("millrace");
    let mut command = Command::new("timeout");
    command.arg("60");
    if copy.exists() {
        command.arg(copy).uid(NOBODY).gid(NOBODY);
    } else {
        command.arg(binary());
    }
    command
}

/// Status and words of what it says of a thing; the worst where it says several.
fn of(said: &Value, name: &str) -> (String, String) {
    let checks = said["checks"].as_array().expect("a list").iter().filter(|c| c["name"] == name);
    let rank = |c: &&Value| ["ok", "warning", "failed"].iter().position(|s| c["status"] == *s);
    let worst =
        checks.max_by_key(rank).unwrap_or_else(|| panic!("nothing is said of {name}: {said}"));
    (
        worst["status"].as_str().unwrap_or("").to_owned(),
        format!(
            "{} {}",
            worst["found"].as_str().unwrap_or(""),
            worst["mend"].as_str().unwrap_or("")
        ),
    )
}

#[test]
fn where_all_is_well_it_says_so_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, said) = doctor(&dir.path().join("data"), &["--listen", "127.0.0.1:0"]);
    assert_eq!((code, &said["ok"]), (Some(0), &Value::Bool(true)), "{said:#}");
    for name in [
        "configuration",
        "data directory",
        "disk",
        "database",
        "node",
        "wall",
        "walls",
        "bundling",
        "egress",
        "mail",
        "packages",
        "address",
        "base URL",
        "clock",
        "open files",
        "user",
    ] {
        assert_ne!(of(&said, name).0, "failed", "{said:#}");
    }
    assert!(
        said["checks"].as_array().expect("a list").iter().filter(|c| c["name"] == "wall").count()
            == 3,
        "{said:#}"
    );
    assert!(
        of(&said, "walls").1.contains("Landlock (version ")
            && of(&said, "walls").1.contains("seccomp-bpf, egress guard"),
        "{said:#}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).expect("reads").count(), 0, "it made something");
}

/// Mail servers are asked as mail is sent: encrypted from the first byte or after STARTTLS, with
/// certificates that this machine trusts, and signed in.
#[tokio::test(flavor = "multi_thread")]
async fn mail_servers_that_encrypt_are_asked_as_mail_is_sent() {
    let dir = tempfile::tempdir().expect("a folder");
    let (at_once, certificate) = MailServer::start_encrypted(Encrypts::AtOnce).await;
    let (when_asked, other) = MailServer::start_encrypted(Encrypts::WhenAsked).await;
    let trusted = dir.path().join("trusted.pem");
    std::fs::write(&trusted, format!("{certificate}{other}")).expect("writes");
    let found = |scheme: &str, who: &str, server: &MailServer, query: &str, trusts: bool| {
        let url = server.url.replace("smtp://", &format!("{scheme}://{who}@"));
        let mut command = Command::new(binary());
        if trusts {
            command.env("SSL_CERT_FILE", &trusted);
        }
        of(
            &told(
                command,
                &dir.path().join("data"),
                &["--listen", "127.0.0.1:0", "--smtp-url", &format!("{url}{query}")],
            )
            .1,
            "mail",
        )
    };
    for (scheme, server, query) in [
        ("smtps", &at_once, ""),
        ("smtp", &when_asked, "?tls=required"),
        ("smtp", &when_asked, "?tls=opportunistic"),
    ] {
        assert_eq!(found(scheme, "u:p", server, query, true).0, "ok", "{scheme} {query}");
    }
    let (status, words) = found("smtps", "u:hidden", &at_once, "", true);
    assert!(status == "failed" && words.contains("535") && !words.contains("hidden"), "{words}");
    let (status, words) = found("smtps", "u:p", &at_once, "", false);
    assert!(status == "failed" && words.contains("certificate"), "{words}");
}

#[test]
fn what_is_wrong_is_named_with_what_mends_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let key = dir.path().join("master.key");
    std::fs::write(&key, "short").expect("writes");
    std::fs::write(
        dir.path().join("millrace.db"),
        "this is no database, but a text of some length that is not one either",
    )
    .expect("writes");
    let args = [
        "--node",
        "/no/such/node",
        "--smtp-url",
        "smtp://user:hidden@127.0.0.1:1",
        "--egress-allow",
        "no-such-name.invalid,0.0.0.0/0",
        "--base-url",
        "http://millrace.example",
        "--listen",
        "256.0.0.1:1",
        "--metrics-listen",
        "256.0.0.1:2",
        "--npm-registry",
        "http://user:hidden@127.0.0.1:1",
        "--otlp-url",
        "http://127.0.0.1:1",
        "--s3-endpoint",
        "http://127.0.0.1:1",
        "--s3-access-key-id",
        "id",
        "--s3-secret-access-key",
        "hidden",
    ];
    let (code, said) = doctor(dir.path(), &args);
    assert_eq!((code, &said["ok"]), (Some(1), &Value::Bool(false)));
    for (name, status, words) in [
        ("master key", "failed", "master.key"),
        ("database", "failed", "backup"),
        ("node", "failed", "--node"),
        ("mail", "failed", "--smtp-url"),
        ("address", "failed", "--listen"),
        ("metrics", "failed", "--metrics-listen"),
        ("packages", "warning", "--npm-registry"),
        ("traces", "warning", "--otlp-url"),
        ("object store", "warning", "--s3-endpoint"),
        ("egress", "warning", "--egress-allow"),
        ("base URL", "warning", "TLS"),
    ] {
        let (found, text) = of(&said, name);
        assert!(found == status && text.contains(words), "{name}: {found}: {text}");
    }
    assert!(!said.to_string().contains("hidden"), "a password is shown");
    assert_eq!(std::fs::read(&key).expect("reads"), b"short");
    let (code, said) = doctor(
        &dir.path().join("none"),
        &[
            "--database-url",
            &format!("postgres://u:hidden@{taken}/x?connect_timeout=1"),
            "--listen",
            &taken,
        ],
    );
    assert_eq!(
        (code, of(&said, "database").0.as_str(), said.to_string().contains("hidden")),
        (Some(1), "failed", false),
        "{said:#}"
    );
    std::fs::write(dir.path().join("millrace.toml"), "lissten = 1").expect("writes");
    let (code, said) = doctor(dir.path(), &[]);
    assert!(code == Some(1) && of(&said, "configuration").1.contains("lissten"), "{said:#}");
}

#[tokio::test]
async fn a_server_that_runs_is_looked_at_and_left_alone() {
    let server = Server::start().await;
    let (code, said) = doctor(&server.data_dir(), &["--base-url", &server.url]);
    assert_eq!(code, Some(0), "{said:#}");
    assert!(
        of(&said, "data directory").1.contains("a server uses it")
            && of(&said, "database").1.contains("schema"),
        "{said:#}"
    );
    assert!(of(&said, "base URL").1.contains("leads to the server"), "{said:#}");
    let (code, said) = doctor(&server.data_dir(), &["--base-url", "http://127.0.0.1:1"]);
    assert!(code == Some(1) && of(&said, "base URL").1.contains("--base-url"), "{said:#}");
    assert_eq!(server.get("/users/me").await.status, 200);
}

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .expect("changes its rights");
}

/// Both say the same, and neither waits for the other end of a pipe.
#[tokio::test]
async fn what_a_start_is_refused_for_fails() {
    let mut server = Server::start_unprivileged(&[]).await;
    assert_eq!(server.terminate(), Some(0));
    let data = server.data_dir();
    let look = |name: &str, path: &Path, words: &str| {
        let started = as_its_user(&server)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .stdin(Stdio::null())
            .output()
            .expect("starts");
        let said = String::from_utf8_lossy(&started.stderr);
        assert!(
            started.status.code() == Some(1)
                && said.contains(words)
                && said.contains(&path.display().to_string()),
            "{words}: {said}"
        );
        let (code, told) = told(as_its_user(&server), &data, &["--listen", "127.0.0.1:0"]);
        let (status, text) = of(&told, name);
        assert!(
            code == Some(1)
                && status == "failed"
                && text.contains(words)
                && text.contains(&path.display().to_string()),
            "{words}: {told:#}"
        );
    };
    let kept = data.join("aside");
    let copy = |path: &Path, mode: u32| {
        std::fs::copy(&kept, path).expect("copies");
        allow(path, mode);
    };
    let pipe =
        |path: &Path| assert!(Command::new("mkfifo").arg(path).status().expect("starts").success());
    let empty = |path: &Path| std::fs::write(path, "").expect("writes");
    type Change<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, &str, &str, Change); 10] = [
        ("master.key", "master key", "is missing", &|_| {}),
        ("master.key", "master key", "may not be read by this user", &|path| copy(path, 0)),
        ("master.key", "master key", "is no master key", &|path| {
            std::fs::write(path, "short").expect("writes")
        }),
        ("master.key", "master key", "is no file but a pipe", &pipe),
        ("millrace.db", "database", "is missing or empty", &|_| {}),
        ("millrace.db", "database", "is missing or empty", &empty),
        ("millrace.db", "database", "is a link that leads nowhere", &|path| {
            symlink("/nowhere/millrace.db", path).expect("a link")
        }),
        ("millrace.db", "database", "is no file but a pipe", &pipe),
        ("millrace.db", "database", "is no file but a folder", &|path| {
            std::fs::create_dir(path).expect("a folder")
        }),
        ("millrace.db", "database", "may not be read and written by this user", &|path| {
            copy(path, 0o444)
        }),
    ];
    for (file, name, words, change) in cases {
        let path = data.join(file);
        std::fs::rename(&path, &kept).expect("puts it aside");
        change(&path);
        // Root gives it away; nobody else has to.
        let _ = chown(&path, Some(NOBODY), Some(NOBODY));
        look(name, &path, words);
        let _ =
            if path.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) };
        std::fs::rename(&kept, &path).expect("puts it back");
    }
    let index = data.join("millrace.db-shm");
    // A look leaves one.
    let _ = std::fs::remove_file(&index);
    std::fs::create_dir(&index).expect("a folder");
    look("database", &index, "is no file but a folder");
    std::fs::remove_dir(index).expect("removes");
    allow(&data, 0o500);
    look("data directory", &data, "`chmod u+rwx ");
    allow(&data, 0o700);
    let half = data.join("restoring");
    empty(&half);
    look("data directory", &data, "was broken off");
    std::fs::remove_file(half).expect("removes");
    let (code, told) = told(as_its_user(&server), &data, &["--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(0), "{told:#}");
    server.launch().await;
}

#[test]
fn what_components_may_reach_is_told_as_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path().join("data");
    let look = |args: &[&str]| {
        of(&doctor(&data, &[args, &["--listen", "127.0.0.1:0"]].concat()).1, "egress")
    };
    let (status, words) = look(&["--sandbox", "off"]);
    assert!(status == "warning" && words.contains("components reach everything"), "{words}");
    for opened in [
        "169.254.169.254",
        "169.254.0.0/17:80",
        "128.0.0.0/1",
        "fd00:ec2::254",
        "fd00::/8",
        "::ffff:169.254.169.254",
    ] {
        let (status, words) = look(&["--egress-allow", opened]);
        assert!(
            status == "warning" && words.contains("a cloud gives the keys"),
            "{opened}: {words}"
        );
    }
    for opened in ["10.1.2.3:5432", "169.254.20.10:53", "fd12::/64"] {
        assert_eq!(look(&["--egress-allow", opened]).0, "ok", "{opened}");
    }
    // Neither a range nor an address: which was meant?
    let refused = Command::new(binary())
        .args(["doctor", "--egress-allow", "10.1.2.3/8"])
        .output()
        .expect("starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("one address of the range 10.0.0.0/8"),
        "{refused:?}"
    );
}

/// Passes, and says so, where there is no Postgres.
#[tokio::test]
async fn a_postgres_is_looked_at_and_left_alone() {
    let Some(cluster) = cluster() else { return };
    let (dir, database) = (tempfile::tempdir().expect("a folder"), cluster.database().await);
    let look = |url: &str| {
        doctor(&dir.path().join("data"), &["--listen", "127.0.0.1:0", "--database-url", url])
    };
    let tables = async || {
        let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
        database.client().await.query_one(sql, &[]).await.expect("reads").get::<_, i64>(0)
    };
    let (code, said) = look(&database.url());
    assert_eq!(
        (code, of(&said, "database").0.as_str(), tables().await),
        (Some(0), "ok", 0),
        "{said:#}"
    );
    assert!(
        of(&said, "database").1.contains("Postgres") && of(&said, "database").1.contains("empty"),
        "{said:#}"
    );

    // One that may connect, and no more.
    database
        .client()
        .await
        .batch_execute("CREATE ROLE weak LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        .await
        .expect("a role");
    let (code, said) = look(&database.url().replace("postgres@", "weak:hidden@"));
    assert!(code == Some(1) && of(&said, "database").1.contains("may not make tables"), "{said:#}");
    assert!(
        of(&said, "database").1.contains("GRANT CREATE") && !said.to_string().contains("hidden"),
        "{said:#}"
    );
    let (code, said) = look(&format!("{}_missing", database.url()));
    assert!(code == Some(1) && of(&said, "database").1.contains("does not exist"), "{said:#}");

    // One that a server uses; and one that a newer version has used.
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    let made = tables().await;
    let (code, said) = look(&database.url());
    assert!(code == Some(0) && of(&said, "database").1.contains("schema"), "{said:#}");
    assert_eq!((server.get("/users/me").await.status, tables().await), (200, made));
    drop(server);
    database
        .client()
        .await
        .batch_execute("UPDATE schema_version SET version = 999")
        .await
        .expect("writes");
    let (code, said) = look(&database.url());
    assert!(code == Some(1) && of(&said, "database").1.contains("newer version"), "{said:#}");
}
