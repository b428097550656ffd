//! The HTTP shapes that cross rooms: a request to an endpoint and a component's answer.

/// A request that reached a generated endpoint.
#[derive(Clone, Debug)]
pub struct EndpointRequest {
    /// Upper case.
    pub method: String,
    /// The path below the endpoint, with a leading slash.
    pub path: String,
    /// The whole address as the client gave it: host and path.
    pub url: String,
    /// The query string, without the question mark.
    pub query: String,
    /// Names in lower case, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// The address of the client.
    pub client_ip: String,
    /// The body as it came.
    pub body: Vec<u8>,
    /// What code sees as the body, where it was read as it came, files and all.
    pub parsed: Option<serde_json::Value>,
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointResponse {
    /// 100 to 599 (spec 8).
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}
