//! A runner in a folder of its own, isolates from text, and a sink that remembers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use millrace_runner::{
    Call, CallDone, CallFailure, CallOutcome, Effect, EffectSink, IsolateSpec, ModuleSpec, Runner,
    RunnerConfig, Walls,
};
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Far beyond what any call here needs.
pub const LONG: Duration = Duration::from_secs(60);
/// Of calls that are meant to run over their time.
pub const SHORT: Duration = Duration::from_millis(400);

/// What every fake host begins with: the wire, `send`, `raw`, `done`, and `attack`, which a test
/// defines.
const FAKE: &str = r#"
const { Socket } = require("node:net");
const socket = new Socket({ fd: 3, readable: true, writable: true });
const raw = (bytes) => socket.write(Buffer.from(bytes));
const framed = (text) => { const body = Buffer.from(text); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); return Buffer.concat([head, body]); };
const send = (frame) => raw(framed(JSON.stringify(frame)));
const done = (id, result) => send({ t: "done", id, ok: true, result });
const held = [];
const on = {
  load() { send({ t: "loaded" }); },
  call(call) {
    if (call.event === "attack") attack(call);
    else if (call.event === "hold") { held.push(call.id); send({ t: "log", id: call.id, level: "log", text: "holding", ts: 0 }); }
    else { for (const id of held.splice(0)) done(id, "held"); done(call.id, call.event); }
  },
  cancel(frame) { send({ t: "cancelled", id: frame.id }); },
};
let buffer = Buffer.alloc(0);
socket.on("data", (chunk) => {
  buffer = Buffer.concat([buffer, chunk]);
  while (buffer.length >= 4 && buffer.length >= 4 + buffer.readUInt32LE(0)) {
    const end = 4 + buffer.readUInt32LE(0);
    const frame = JSON.parse(buffer.subarray(4, end));
    buffer = buffer.subarray(end);
    on[frame.t](frame);
  }
});
socket.on("close", () => process.exit(0));
socket.on("error", () => process.exit(0));
let attack = () => {};
const hello = () => send({ t: "hello", protocol: 1, node: process.version });
"#;

/// A runner and its folder.
pub struct Bench {
    pub runner: Runner,
    pub dir: TempDir,
}

/// The built runtime.
pub fn host_script() -> String {
    built("host.cjs")
}

fn built(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/dist").join(file);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("{} is missing: run `cargo xtask build` (or `npm ci && npm run build` in runtime/) first", path.display()))
}

impl Bench {
    /// With the real runtime.
    pub async fn real() -> Self {
        Self::with(host_script(), |_| {}).await
    }

    /// With the real runtime and other settings.
    pub async fn set(change: impl FnOnce(&mut RunnerConfig)) -> Self {
        Self::with(host_script(), change).await
    }

    /// With a fake host. `code` sets `attack = (call) => …`.
    pub async fn fake(code: &str) -> Self {
        Self::fake_silent(&format!("{code}\nhello();")).await
    }

    /// With a fake host and other settings.
    pub async fn fake_set(code: &str, change: impl FnOnce(&mut RunnerConfig)) -> Self {
        Self::with(format!("{FAKE}\n{code}\nhello();"), change).await
    }

    /// With a fake host that does not say hello.
    pub async fn fake_silent(code: &str) -> Self {
        Self::with(format!("{FAKE}\n{code}"), |_| {}).await
    }

    async fn with(host_script: String, change: impl FnOnce(&mut RunnerConfig)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut config = RunnerConfig {
            host_script,
            thread_script: built("worker.cjs"),
            scratch_dir: dir.path().join("hosts"),
            blank_hosts: 1,
            walls: Walls::BestEffort,
            ..RunnerConfig::default()
        };
        change(&mut config);
        let runner = Runner::start(config).await.expect("the runner starts");
        Self { runner, dir }
    }

    /// An isolate of one source; `body` is that of `async run(event)`.
    pub fn isolate(&self, id: &str, body: &str) -> IsolateSpec {
        self.module(
            id,
            &format!(
                "export default {{ name: 'test', version: '1', async run(event) {{ {body} }} }};"
            ),
        )
    }

    /// An isolate of one module.
    pub fn module(&self, id: &str, code: &str) -> IsolateSpec {
        let path = self.dir.path().join(format!("{id}.mjs"));
        std::fs::write(&path, code).expect("writes");
        IsolateSpec {
            id: id.into(),
            organization: "o_1".into(),
            modules: vec![ModuleSpec { name: "m".into(), path, packages: None }],
            env: BTreeMap::new(),
            memory_mb: None,
            calls_per_isolate: 8,
            isolates_max: 1,
            in_order: false,
        }
    }

    /// Calls with an event, keeps no effects.
    pub async fn call(&self, isolate: &IsolateSpec, event: impl Into<Value>) -> CallOutcome {
        self.call_for(isolate, event, LONG, &Recorder::new()).await
    }

    /// Calls within a time.
    pub async fn call_for(
        &self,
        isolate: &IsolateSpec,
        event: impl Into<Value>,
        timeout: Duration,
        sink: &Arc<Recorder>,
    ) -> CallOutcome {
        call(self.runner.clone(), isolate.clone(), event.into(), timeout, sink.clone()).await
    }

    /// Calls in a task of its own.
    pub fn spawn(
        &self,
        isolate: &IsolateSpec,
        event: impl Into<Value>,
        timeout: Duration,
        sink: &Arc<Recorder>,
    ) -> tokio::task::JoinHandle<CallOutcome> {
        tokio::spawn(call(
            self.runner.clone(),
            isolate.clone(),
            event.into(),
            timeout,
            sink.clone(),
        ))
    }
}

async fn call(
    runner: Runner,
    isolate: IsolateSpec,
    event: Value,
    timeout: Duration,
    sink: Arc<Recorder>,
) -> CallOutcome {
    let body = to_raw_value(
        &json!({ "kind": "source", "module": "m", "hook": null, "event": event, "props": {} }),
    )
    .expect("JSON");
    runner.call(Arc::new(isolate), Call { body, timeout, steps: Vec::new() }, sink).await
}

/// What a call returned.
pub fn value(outcome: CallOutcome) -> Value {
    let CallDone { result, .. } = outcome.result.expect("the call ends well");
    millrace_model::json::from_str(result.get()).expect("JSON")
}

/// How a call failed.
pub fn failure(outcome: CallOutcome) -> CallFailure {
    outcome.result.expect_err("the call fails")
}

/// Remembers effects.
#[derive(Default)]
pub struct Recorder {
    effects: Mutex<Vec<Effect>>,
    came: Notify,
}

impl EffectSink for Recorder {
    fn effect(&self, effect: Effect) {
        self.effects.lock().push(effect);
        self.came.notify_waiters();
    }
}

impl Recorder {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The lines of output so far.
    pub fn logs(&self) -> Vec<String> {
        let line =
            |e: &Effect| if let Effect::Log { text, .. } = e { Some(text.clone()) } else { None };
        self.effects.lock().iter().filter_map(line).collect()
    }

    /// Waits for a line of output.
    pub async fn logged(&self, text: &str) {
        let looking = async {
            loop {
                let came = self.came.notified();
                if self.logs().iter().any(|l| l == text) {
                    return;
                }
                came.await;
            }
        };
        tokio::time::timeout(LONG, looking)
            .await
            .unwrap_or_else(|_| panic!("`{text}` was not logged"));
    }
}

/// Looks until it is so.
pub async fn until(what: &str, so: impl Fn() -> bool) {
    let looking = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, looking)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come about"));
}

/// Whether a process is there, also one that is not reaped.
pub fn alive(pid: &Value) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
