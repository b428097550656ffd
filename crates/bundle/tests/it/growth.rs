//! Small code of which a bundler that computes it would make too much.

use serde_json::json;

use crate::{bundle, check, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn sums_and_chains_of_constants_are_left_to_node() {
    let sum = format!("const b = {}; export default b.length;", vec!["'a'"; 200].join(" + "));
    check(&[("a.mjs", &sum)], json!(200)).await;
    let chain: String =
        (1..60).map(|n| format!("const a{n} = `${{a{}}}${{a{}}}`;\n", n - 1, n - 1)).collect();
    let chain = format!("const a0 = 'text';\n{chain}export default () => a59;");
    let made = bundle(&[("a.mjs", &chain)]).await;
    assert!(made.code.contains("${a58}${a58}") && made.code.len() < 3 * chain.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn enums_and_exports_that_grow_are_refused() {
    let chain: String =
        (1..60).map(|n| format!("A{n} = `${{A{}}}${{A{}}}`,", n - 1, n - 1)).collect();
    let chain = format!("enum E {{ A0 = 'text', {chain} }} export default E.A0;");
    let refused = refusal(&[("a.ts", &chain)]).await.to_string();
    assert!(refused.contains("`a.ts:1`") && refused.contains("enums"), "{refused}");

    let each: Vec<(String, String)> = (0..9)
        .map(|own| {
            let all = (0..9).filter(|n| *n != own);
            let code: String = all.map(|n| format!("export * from './f{n}.mjs';")).collect();
            (format!("f{own}.mjs"), format!("{code} export const v{own} = {own};"))
        })
        .collect();
    let mut sources = vec![("a.mjs", "import { v8 } from './f0.mjs'; export default v8;")];
    sources.extend(each.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let refused = refusal(&sources).await.to_string();
    assert!(refused.contains("`f0.mjs`") && refused.contains("export * from"), "{refused}");
}
