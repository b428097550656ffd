//! Facts read from code without running it.

use std::collections::BTreeMap;

use millrace_bundle::{Files, Folder, Index, extract};
use serde_json::json;

const APP: &str = r#"
import { axios } from "@pipedream/platform";
export default {
  type: "app",
  app: "tracker",
  propDefinitions: {
    project: { type: "string", label: "Project", description: `The project`, async options({ page }) { return this.projects(page); } },
    limit: { type: "integer", label: "Limit", optional: true, default: 10, min: 1 },
  },
  methods: {
    projects() { const { base_url: url, ["token"]: token } = this.$auth; return axios(this, { url, token, key: this.$auth?.api_key }); },
    user() { const auth = this.$auth; return auth.user; },
  },
};
"#;

const COMMON: &str = r#"
import tracker from "../../tracker.app.mjs";
import { DEFAULT_POLLING_SOURCE_TIMER_INTERVAL as INTERVAL } from "@pipedream/platform";
const props = { tracker, db: "$.service.db", timer: { type: "$.interface.timer", default: { intervalSeconds: INTERVAL } } };
export default { props, dedupe: "unique", hooks: { async deploy() {} }, methods: { shared() {} }, async run() {} };
"#;

fn tree(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn tracker(path: &str, code: &str) -> BTreeMap<String, String> {
    let mut files = tree(&[
        ("components/tracker/tracker.app.mjs", APP),
        ("components/tracker/sources/common/base.mjs", COMMON),
    ]);
    files.insert(path.to_owned(), code.to_owned());
    files
}

#[test]
fn a_source_that_is_spread_from_a_common_base() {
    const PATH: &str = "components/tracker/sources/new-item/new-item.mjs";
    let code = r#"
import common from "../common/base.mjs";
import sampleEmit from "./test-event.mjs";
const { tracker } = common.props;
export default {
  ...common,
  key: "tracker-new-item", name: "New Item", version: "0.0." + 1, type: "source",
  description: "Emits " + `each item`,
  props: {
    ...common.props,
    project: { propDefinition: [tracker, "project", (c) => ({ x: c.y })], label: "Which project", optional: true },
    limit: { propDefinition: [common.props.tracker, "limit"] },
  },
  methods: { ...common.methods, own() { return this.tracker.$auth.region; } },
  sampleEmit,
};
"#;
    let mut files = tracker(PATH, code);
    files.insert(
        "components/tracker/sources/new-item/test-event.mjs".into(),
        "export default { id: 1, tags: ['a'] };".into(),
    );
    let facts = extract::component(&files, PATH).expect("a component");
    insta::assert_snapshot!(serde_json::to_string_pretty(&facts).expect("JSON"));
    let reached: Vec<String> = extract::closure(&files, PATH).into_iter().collect();
    assert_eq!(
        reached,
        [
            "components/tracker/sources/common/base.mjs",
            PATH,
            "components/tracker/sources/new-item/test-event.mjs",
            "components/tracker/tracker.app.mjs"
        ]
    );
}

#[test]
fn an_apps_definitions_and_the_keys_that_it_reads() {
    let files = tracker("x.mjs", "");
    let app = extract::app(&files, "components/tracker/tracker.app.mjs").expect("an app");
    assert_eq!((app.slug.as_str(), app.prop_definitions.len()), ("tracker", 2));
    assert_eq!(
        app.auth_keys.into_iter().collect::<Vec<_>>(),
        ["api_key", "base_url", "token", "user"]
    );
    assert!(
        extract::component(&files, "components/tracker/tracker.app.mjs").is_none(),
        "an app is no component"
    );
    assert!(
        extract::app(&files, "components/tracker/sources/common/base.mjs").is_none(),
        "a component is no app"
    );
}

#[test]
fn definitions_in_all_forms() {
    let forms = [
        (
            "a.mjs",
            "export default defineAction({ key: 'k', type: 'action', props: {}, run() {} });",
        ),
        (
            "a.ts",
            "import { defineAction } from '@pipedream/types'; const x = { key: 'k' as const, type: 'action', async run() {} } satisfies object; export default defineAction(x);",
        ),
        ("a.js", "const key = 'k'; module.exports = { key, type: 'action', run: async () => {} };"),
        (
            "a.mjs",
            "const a = Object.freeze({ key: 'k', type: 'action' }); export { b as default }; const b = { ...a, run: function () {} };",
        ),
    ];
    for (path, code) in forms {
        let facts = extract::component(&tree(&[(path, code)]), path).expect(code);
        assert_eq!(
            (
                facts.manifest.key.as_deref(),
                facts.manifest.component_type.as_deref(),
                facts.manifest.has_run
            ),
            (Some("k"), Some("action"), true),
            "{code}"
        );
    }
}

#[test]
fn what_cannot_be_known_is_left_out() {
    let code = r#"
import { unknown } from "some-package";
let key = "a"; key = "b";
const changed = { a: { type: "string" } };
changed.b = { type: "string" };
export default {
  name: "kept?", version: unknown.version, key,
  ...unknown,
  description: `with ${unknown}`,
  props: { one: { type: "string", label: unknown.label, optional: true }, ...changed },
  get type() { return "action"; },
};
"#;
    let facts = extract::component(&tree(&[("a.mjs", code)]), "a.mjs").expect("a component");
    let manifest = &facts.manifest;
    assert_eq!(
        (
            &manifest.name,
            &manifest.version,
            &manifest.key,
            &manifest.description,
            &manifest.component_type
        ),
        (&None, &None, &None, &None, &None)
    );
    assert!(!facts.props_are_complete && !manifest.has_run);
    let code = "export default { key: 'k', props: { one: { type: 'string', label: f(), optional: true }, two: f() } };";
    let facts = extract::component(&tree(&[("a.mjs", code)]), "a.mjs").expect("a component");
    assert_eq!(
        serde_json::to_value(&facts.manifest.props).expect("JSON"),
        json!([{ "name": "one", "type": "string", "optional": true }])
    );
}

#[test]
fn code_that_never_ends_to_be_read() {
    // Names that lead to each other, values that double with each line, and no code at all.
    let mut doubling = String::from("const a0 = ['x', 'y'];");
    for i in 1..64 {
        doubling.push_str(&format!("const a{i} = [...a{}, ...a{}];", i - 1, i - 1));
    }
    doubling
        .push_str("export default { key: 'k', props: { p: { type: 'string', options: a63 } } };");
    let files = tree(&[
        ("a.mjs", "import b from './b.mjs'; export default { ...b, key: 'a' };"),
        ("b.mjs", "import a from './a.mjs'; export default { ...a };"),
        ("c.mjs", &doubling),
        ("d.mjs", "export default {{{"),
    ]);
    assert_eq!(
        extract::component(&files, "a.mjs").and_then(|f| f.manifest.key).as_deref(),
        Some("a")
    );
    assert_eq!(
        extract::component(&files, "c.mjs").and_then(|f| f.manifest.key).as_deref(),
        Some("k")
    );
    assert!(
        extract::component(&files, "d.mjs").is_none()
            && extract::component(&files, "none.mjs").is_none()
    );
}

#[test]
fn a_folder_is_indexed_and_only_what_changed_is_read_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("makes a folder");
        std::fs::write(path, text).expect("writes");
    };
    write("components/tracker/tracker.app.mjs", APP);
    write("components/tracker/sources/common/base.mjs", COMMON);
    write("components/tracker/sources/common/common.mjs", "export const x = 1;");
    let source = "import common from '../common/base.mjs'; export default { ...common, key: 'tracker-new', name: 'New', version: '1', type: 'source' };";
    write("components/tracker/sources/new/new.mjs", source);
    write(
        "components/tracker/actions/do/do.ts",
        "export default defineAction({ key: 'tracker-do', name: 'Do', version: '0.0.1', type: 'action' });",
    );
    write("components/tracker/actions/do/helper.mjs", "export default { retries: 3 };");
    write("components/tracker/actions/broken/broken.mjs", "export default {");
    write(
        "components/tracker/actions/odd/od.mjs",
        "export default { key: 'tracker-odd', version: '1', type: 'action' };",
    );
    write(
        "components/tracker/actions/common/common.mjs",
        "export default { key: 'tracker-common', version: '1', type: 'action' };",
    );
    let folder = Folder::new(dir.path());
    let index = Index::of(&folder, None);
    let keys = |index: &Index| {
        index
            .entries
            .iter()
            .map(|e| format!("{} {} {}", e.component_type, e.key, e.version))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&index),
        ["action tracker-do 0.0.1", "action tracker-odd 1", "source tracker-new 1"]
    );
    assert_eq!(
        index.unindexed.iter().map(|u| u.path.as_str()).collect::<Vec<_>>(),
        [
            "components/tracker/actions/broken/broken.mjs",
            "components/tracker/actions/common/common.mjs"
        ]
    );
    let reason = &index.unindexed[0].reason;
    assert!(reason.starts_with("it has a syntax error on line 1: "), "{reason}");
    assert_eq!(Index::of(&folder, Some(&index)).read, 0);
    // What a component builds on is part of it.
    write(
        "components/tracker/sources/common/base.mjs",
        "export default { props: {}, version: '9' };",
    );
    write(
        "components/tracker/actions/broken/broken.mjs",
        "export default { key: 'tracker-mended' };",
    );
    let again = Index::of(&folder, Some(&index));
    assert_eq!((again.read, again.unindexed.len(), again.entries.len()), (3, 1, 4));
    assert!(folder.read("components/tracker/tracker.app.mjs").is_some());
}
