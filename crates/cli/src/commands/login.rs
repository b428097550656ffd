//! Keys of servers in the configuration file: `login`, `logout` and `profile`.

use serde_json::{Value, json};

use crate::args::{GlobalArgs, ProfileCommand};
use crate::client::Client;
use crate::client::profile::{self, Profile};
use crate::error::CliError;
use crate::terminal::printer::Show;
use crate::terminal::{printer, prompt};

pub(super) fn profiles(show: Show, command: &ProfileCommand) -> Result<(), CliError> {
    let path = profile::path()?;
    match command {
        ProfileCommand::List => {
            let rows: Vec<Value> = Profile::list(&path)?
                .into_iter()
                .map(|(name, url, used)| json!({ "name": name, "url": url, "used": used }))
                .collect();
            show.table(
                &json!({ "data": rows }),
                &[("NAME", "name"), ("URL", "url"), ("USED", "used")],
            )
        }
        ProfileCommand::Use { name } => {
            Profile::use_from_now(&path, name)?;
            if show.json {
                return printer::data(&json!({ "name": name }).to_string());
            }
            printer::note(&format!("the profile `{name}` is used from now on"));
            Ok(())
        }
    }
}

pub(super) async fn login(global: &GlobalArgs) -> Result<(), CliError> {
    let (url, api_key) = prompt::login(global.url.clone(), global.api_key.clone())?;
    let profile = Profile { url, api_key };
    let me = Client::new(profile.clone())?.get("/users/me").await;
    let me = me.map_err(|error| error.of_login(&profile.url))?;
    let (me, path) = (&me["data"], profile::path()?);
    profile.save(&path, &Profile::name(global)?, me["orgs"][0]["id"].as_str().unwrap_or(""))?;
    let text = |field: &str| me[field].as_str().unwrap_or("").to_owned();
    if global.json {
        return printer::data(&json!({ "url": profile.url, "username": text("username"), "email": text("email"), "file": path }).to_string());
    }
    printer::note(&format!(
        "logged in at {} as {} ({}); the key is kept in {}",
        profile.url,
        text("username"),
        text("email"),
        path.display()
    ));
    Ok(())
}

pub(super) fn logout(global: &GlobalArgs) -> Result<(), CliError> {
    let path = profile::path()?;
    let had_key = Profile::remove(&path, &Profile::name(global)?)?;
    if global.json {
        return printer::data(&json!({ "file": path }).to_string());
    }
    printer::note(&if had_key {
        format!("the key was removed from {}", path.display())
    } else {
        format!("there was no key in {}", path.display())
    });
    Ok(())
}
