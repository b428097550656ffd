//! Types of props (spec 2.7): which there are, and what each asks of a value.

/// Type of a prop's value; of a list (`string[]`), the type of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropType {
    /// `string`.
    Text,
    /// `integer`.
    Integer,
    /// `boolean`.
    Boolean,
    /// `object`.
    Object,
    /// `app`: a connected account.
    App,
    /// `http_request`: a request that the component makes.
    HttpRequest,
    /// `sql`: a query.
    Sql,
    /// `data_store`, or `datastore` (facts 9).
    DataStore,
    /// `dir`: a file store.
    FileStore,
    /// `alert`: text of the form, without a value.
    Alert,
    /// `$.interface.http`.
    HttpInterface,
    /// `$.interface.timer`.
    TimerInterface,
    /// `$.interface.apphook`.
    AppHook,
    /// `$.service.db`.
    Db,
    /// Another name that begins with `$.`, such as `$.discord.channel`.
    Service,
    /// Any other name: kept as written (reference 3), its values are not checked.
    Other,
}

impl PropType {
    /// Reads the name of a type, and whether it is a list.
    pub fn parse(name: &str) -> (Self, bool) {
        let (item, is_list) = name.strip_suffix("[]").map_or((name, false), |item| (item, true));
        let item = match item {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "app" => Self::App,
            "http_request" => Self::HttpRequest,
            "sql" => Self::Sql,
            "data_store" | "datastore" => Self::DataStore,
            "dir" => Self::FileStore,
            "alert" => Self::Alert,
            "$.interface.http" => Self::HttpInterface,
            "$.interface.timer" => Self::TimerInterface,
            "$.interface.apphook" => Self::AppHook,
            "$.service.db" => Self::Db,
            other if other.starts_with("$.") => Self::Service,
            _ => Self::Other,
        };
        (item, is_list)
    }

    /// Whether a deploy needs a value, where the definition does not say that it is optional:
    /// interfaces and services are made by the server, and the hosted platform takes components
    /// whose accounts and stores are not chosen yet.
    pub const fn needs_value(self) -> bool {
        match self {
            Self::Text | Self::Integer | Self::Boolean | Self::Object | Self::Other => true,
            Self::App
            | Self::HttpRequest
            | Self::Sql
            | Self::DataStore
            | Self::FileStore
            | Self::Alert
            | Self::HttpInterface
            | Self::TimerInterface
            | Self::AppHook
            | Self::Db
            | Self::Service => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_data_store_and_lists_are_known() {
        assert_eq!(PropType::parse("datastore"), (PropType::DataStore, false));
        assert_eq!(PropType::parse("app[]"), (PropType::App, true));
        assert_eq!(PropType::parse("$.airtable.baseId"), (PropType::Service, false));
        assert_eq!(PropType::parse("something"), (PropType::Other, false));
    }
}
