//! Packages of the public registry that users named: they read their own files, or find code as
//! they run. The kinds are held by packages of the tests' own registry; these are the real ones.

use millrace_tests::Server;
use serde_json::{Value, json};

use super::packages::returned;

/// Imports, what `run` does, and what it gives in a folder of npm on Node 20.
const USES: &[(&str, &str, &str)] = &[
    (
        "import moment from 'moment@2.30.1';",
        "return moment('2026-01-01').locale('fr').format('MMMM');",
        r#""janvier""#,
    ),
    (
        "import { createRequire } from 'node:module'; import 'lodash@4.17.21';",
        "return createRequire(import.meta.url)('lodash').chunk([1, 2, 3], 2);",
        "[[1, 2], [3]]",
    ),
    (
        "import { get_encoding } from 'tiktoken@1.0.22';",
        "return get_encoding('cl100k_base').encode('hello world').length;",
        "2",
    ),
    (
        "import open from 'sql.js@1.13.0';",
        "const { Database } = await open(); return new Database().exec('SELECT 1 + 1')[0].values;",
        "[[2]]",
    ),
    (
        "import Document from 'pdfkit@0.17.2';",
        "const paper = new Document(); const parts = []; paper.on('data', (part) => parts.push(part));
         paper.text('a mill'); paper.end(); await new Promise((done) => paper.on('end', done));
         return Buffer.concat(parts).toString('latin1', 0, 5);",
        r#""%PDF-""#,
    ),
    // Its newest version wants another Node.
    ("import { execa } from 'execa';", "return typeof execa;", r#""function""#),
];

#[tokio::test]
async fn s8_packages_that_users_named_do_what_they_do_in_a_folder_of_npm() {
    let server = Server::start().await;
    for (imports, uses, expected) in USES {
        let code = format!(
            "{imports}\nexport default {{ name: 'n', version: '1', async run() {{ {uses} }} }};"
        );
        let expected: Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(
            returned(&server, json!({ "component_code": code })).await,
            expected,
            "{imports}"
        );
    }
}
