//! OAuth clients, and the tokens that they get for their id and secret (`client_credentials`).

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_engine::IssuedToken;
use millrace_model::ids::{OauthClientId, UserId};
use millrace_model::tenant::{OauthClient, Scope, Scopes};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post};
use crate::contract::shape::{of, record};
use crate::contract::table::{FULL, NOTHING, ORG, text, word};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, ShownBy, id};
use crate::fields::Fields;
use crate::input::{Input, input};
use crate::v1::names;

record! {
    /// An OAuth client; its id is the `client_id` of requests
    OauthClientOut<'a>(c: &'a OauthClient) {
        id: &'a OauthClientId = &c.id,
        name: &'a str = &c.name,
        user_id: &'a UserId = &c.user_id,
        scopes: Vec<Scope> = c.scopes.iter().collect(),
        created_at: i64 = c.created_at.secs(),
    }
}

record! {
    /// A new OAuth client with its secret, shown this once
    NewOauthClientOut<'a>(c: &'a OauthClient, secret: &'a str) {
        #[serde(flatten)]
        record: OauthClientOut<'a> = OauthClientOut::new(c),
        client_secret: &'a str = secret,
    }
}

record! {
    /// A token, shown this once
    OauthTokenOut<'a>(t: &'a IssuedToken) {
        access_token: &'a str = &t.token,
        token_type: &'static str = "Bearer",
        expires_in: i64 = t.expires_in,
        created_at: i64 = t.created_at.secs(),
    }
}

record! {
    /// An empty answer
    NothingOut() {}
}

input! {
    /// A client that is made.
    OauthClientIn {
        /// What it is for
        name: String,
        /// What its tokens may do at most: `read`, `invoke`, `deploy`, or `full`, which is
        /// everything
        scopes: Scopes,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let client = [
        text("client_id", "The client; it may stand in `Authorization: Basic` too"),
        text("client_secret", "Its secret"),
    ];
    vec![
        post("/oauth/clients", FULL, "Make an OAuth client; its secret is shown this once", create)
            .reads::<OauthClientIn>()
            .takes(&[ORG])
            .gives(Gives::One(of::<NewOauthClientOut>())),
        get("/oauth/clients", FULL, "OAuth clients, newest first; never their secrets", list)
            .takes(&[ORG])
            .page(of::<OauthClientOut>()),
        get("/oauth/clients/{id}", FULL, "An OAuth client", show).one(of::<OauthClientOut>()),
        delete("/oauth/clients/{id}", FULL, "End an OAuth client and its tokens", remove),
        post(
            "/oauth/token",
            NOTHING,
            "Get a token for a client; it is sent as an API key is, and is good for an hour",
            token,
        )
        .takes(&[word("grant_type", &["client_credentials"], "`client_credentials`").required()])
        .takes(&client)
        .takes(&[text("scope", "Less than the client may do; words with spaces between them")])
        .gives(Gives::Bare(of::<OauthTokenOut>())),
        post("/oauth/revoke", NOTHING, "End a token", revoke)
            .takes(&[text("token", "The token").required()])
            .takes(&client)
            .gives(Gives::Bare(of::<NothingOut>())),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let new = OauthClientIn::read(&params)?;
    let (client, secret) =
        app.engine.oauth_clients().create(&caller, &new.name, new.scopes).await?;
    Ok(Fields::default().data(NewOauthClientOut::show(&client, &secret)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.oauth_clients().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |client| OauthClientOut::show(&client)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let client = app
        .engine
        .oauth_clients()
        .get(&caller, &id::<OauthClientId>("OAuth client", &text)?)
        .await?;
    Ok(Fields::of(&query.params).data(OauthClientOut::show(&client)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let client = id::<OauthClientId>("OAuth client", &text)?;
    app.engine.oauth_clients().delete(&caller, &client).await?;
    Ok(names::deleted(client.as_str()))
}

pub(crate) async fn token(
    State(app): State<App>,
    ShownBy(from): ShownBy,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let grant = params.needed("grant_type")?;
    if grant != "client_credentials" {
        let shown = millrace_model::shown(&grant);
        return Err(ApiError::field(
            "grant_type",
            format!("`grant_type` is `{shown}`, allowed is `client_credentials`"),
        ));
    }
    let wanted = match params.text("scope")? {
        // `*` stands for all that the client may do, as clients of such platforms say it.
        Some(text) if text.trim() != "*" => {
            let refused = |word: String| {
                let allowed = Scope::ALL.map(Scope::as_str).join(", ");
                let shown = millrace_model::shown(&word);
                ApiError::field(
                    "scope",
                    format!(
                        "`{shown}` is not a scope; allowed are {allowed}, and `*` for all that the client may do"
                    ),
                )
            };
            Scopes::parse(&text).map_err(refused)?
        }
        _ => None,
    };
    let (client, secret) = credentials(&headers, &params)?;
    let issued =
        app.engine.oauth_clients().issue_token(&client, &secret, wanted, from.as_ref()).await?;
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(OauthTokenOut::show(&issued))).into_response())
}

/// A token that is not there is revoked as well (RFC 7009).
pub(crate) async fn revoke(
    State(app): State<App>,
    ShownBy(from): ShownBy,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let token = params.needed("token")?;
    let (client, secret) = credentials(&headers, &params)?;
    app.engine.oauth_clients().revoke_token(&client, &secret, &token, from.as_ref()).await?;
    Ok(Json(NothingOut::show()).into_response())
}

/// Id and secret, as parameters or as `Authorization: Basic` (RFC 6749, 2.3.1).
fn credentials(headers: &HeaderMap, params: &Params) -> Result<(String, String), ApiError> {
    let given = (params.text("client_id")?, params.text("client_secret")?);
    if let (Some(id), Some(secret)) = given {
        return Ok((id, secret));
    }
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, text) = value.to_str().ok()?.split_once(' ')?;
        let text = scheme
            .eq_ignore_ascii_case("basic")
            .then(|| STANDARD.decode(text.trim()).ok())
            .flatten()?;
        let (id, secret) = std::str::from_utf8(&text).ok()?.split_once(':')?;
        Some((id.to_owned(), secret.to_owned()))
    });
    basic.ok_or_else(|| {
        ApiError::missing("client_id", "give it with `client_secret`, or as `Authorization: Basic`")
    })
}
