//! Command on a terminal: the test reads its output and presses keys.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How long something to be shown is waited for.
const DEADLINE: Duration = Duration::from_secs(120);
/// Between two looks at what is shown.
const LOOK: Duration = Duration::from_millis(10);

/// Presses of keys that are no letters.
pub const ENTER: &str = "\r";
pub const DOWN: &str = "\u{1b}[B";
pub const INTERRUPT: &str = "\u{3}";

/// The command and its terminal; killed with this value.
pub struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// What was waited for stands before.
    read: usize,
}

impl Terminal {
    /// Starts the command with a terminal as all three of its streams.
    pub fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("grants");
        unlockpt(&master).expect("unlocks");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let slave = File::from(
            open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
                .expect("opens"),
        );
        tcsetwinsize(&slave, Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 })
            .expect("a size");
        let stream = || Stdio::from(slave.try_clone().expect("clones"));
        let child = command
            .env("TERM", "xterm-256color")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .expect("starts");
        let keys = File::from(master);
        let mut screen = keys.try_clone().expect("clones");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let kept = shown.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error once nobody has the other side.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                kept.lock().expect("not poisoned").extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, shown, read: 0 }
    }

    /// All that was shown, with its colours.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("not poisoned")).into_owned()
    }

    /// Waits until a text is shown behind what was waited for before.
    pub fn until(&mut self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let plain = plain(&self.shown());
            if let Some(at) = plain.get(self.read..).and_then(|rest| rest.find(text)) {
                self.read += at + text.len();
                return;
            }
            assert!(
                Instant::now() < deadline,
                "`{text}` was not shown: {}",
                plain.get(self.read..).unwrap_or(&plain)
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("types");
    }

    /// Waits for the end: the exit status, and all that was shown.
    pub fn ends(mut self) -> (i32, String) {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("waits") {
                break status;
            }
            assert!(Instant::now() < deadline, "it did not end: {}", self.shown());
            std::thread::sleep(LOOK);
        };
        // What it showed last may still be on its way.
        let mut before = self.shown().len();
        loop {
            std::thread::sleep(LOOK * 5);
            let now = self.shown().len();
            if now == before {
                break;
            }
            before = now;
        }
        (status.code().unwrap_or(-1), self.shown())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Without what moves the cursor and colours the text.
pub fn plain(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next_if_eq(&'[').is_some() {
            // Up to the letter that ends it.
            chars.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    out
}
