//! What the API says it is: each route, what it takes and gives, and the OpenAPI document made of
//! that.

pub(crate) mod codes;
pub(crate) mod known;
pub(crate) mod openapi;
pub(crate) mod routes;
pub(crate) mod schemas;
pub(crate) mod table;
