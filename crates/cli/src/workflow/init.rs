//! `workflows init`: writes the folder of a first workflow.

use std::path::Path;

use serde_json::json;

use crate::error::CliError;
use crate::files::init::slug;
use crate::terminal::printer::{self, Show};

const HTTP_STEP: &str = "export default defineComponent({
  props: {
    who: { type: \"string\", label: \"Who\", default: \"world\" },
  },
  async run({ steps, $ }) {
    const text = `Hello, ${this.who}!`;
    $.export(\"$summary\", text);
    await $.respond({ status: 200, headers: { \"content-type\": \"text/plain\" }, body: `${text}\\n` });
    return text;
  },
});
";

const TIMER_STEP: &str = "export default defineComponent({
  async run({ steps, $ }) {
    const at = new Date(steps.trigger.event.timestamp * 1000).toISOString();
    $.export(\"$summary\", `It is ${at}`);
    return at;
  },
});
";

/// Writes the folder and says what to do with it. What is there already is not touched.
pub(crate) fn init(show: Show, name: &str, timer: bool, parent: &Path) -> Result<(), CliError> {
    let slug = slug(name)?;
    let folder = parent.join(&slug);
    if folder.exists() {
        return Err(CliError::Exists(folder));
    }
    let name = serde_json::Value::from(name);
    let workflow = if timer {
        format!(
            "name: {name}\ntriggers:\n  - type: timer\n    props:\n      intervalSeconds: 60\nsteps:\n  - namespace: clock\n    code_file: steps/clock.mjs\n"
        )
    } else {
        format!(
            "name: {name}\ntriggers:\n  - type: http\nsteps:\n  - namespace: greet\n    code_file: steps/greet.mjs\n    props:\n      who: \"{{{{steps.trigger.event.query?.name ?? 'world'}}}}\"\n"
        )
    };
    let step = if timer { ("steps/clock.mjs", TIMER_STEP) } else { ("steps/greet.mjs", HTTP_STEP) };
    // Which workflow of which server it is, is nobody else's concern.
    let files = [("workflow.yaml", workflow.as_str()), step, (".gitignore", ".millrace.json\n")];
    for (path, text) in files {
        let full = folder.join(path);
        let made = std::fs::create_dir_all(crate::workflow::file::folder_of(&full));
        if let Err(source) = made.and_then(|()| std::fs::write(&full, text)) {
            // Half a folder, which was not there before, would be in the way of the next attempt.
            let _ = std::fs::remove_dir_all(&folder);
            return Err(CliError::Write { path: full, source });
        }
    }
    if show.json {
        return printer::data(
            &json!({ "folder": folder, "files": files.map(|(path, _)| path) }).to_string(),
        );
    }
    for (path, _) in files {
        printer::data(&folder.join(path).display().to_string())?;
    }
    printer::note(&format!("next: millrace dev {slug}, or millrace workflows deploy {slug}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::file::WorkflowFile;

    #[test]
    fn what_is_written_is_a_right_workflow() {
        let parent = std::env::temp_dir().join(format!("millrace-init-{}", std::process::id()));
        for (name, timer, namespace) in
            [("My \"First\" One", false, "greet"), ("Clock", true, "clock")]
        {
            init(Show { json: true }, name, timer, &parent).expect("writes");
            let file =
                WorkflowFile::read(&parent.join(slug(name).expect("a slug"))).expect("reads");
            assert_eq!(
                (file.name.as_str(), file.code.keys().map(String::as_str).collect::<Vec<_>>()),
                (name, vec![namespace])
            );
            assert!(matches!(
                init(Show { json: true }, name, timer, &parent),
                Err(CliError::Exists(_))
            ));
        }
        std::fs::remove_dir_all(parent).expect("cleans");
    }
}
