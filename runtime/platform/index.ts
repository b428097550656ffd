// Answers to `@pipedream/platform`: what components import by that name.
import { axios } from "./axios.ts";
import { $end, END_NEEDLE } from "./end.ts";
import { ConfigurationError } from "./errors.ts";
import { getFileStream, getFileStreamAndMetadata } from "./files.ts";
import { cloneSafe, jsonStringifySafe } from "./json.ts";
import { transformConfigForOauth } from "./oauth.ts";
import * as send from "./send.ts";
import { sqlProp, sqlProxy } from "./sql.ts";

/** Seconds between polls of a source that names no other. */
export const DEFAULT_POLLING_SOURCE_TIMER_INTERVAL = 900;

/** Compared with an account's `oauth_client_id` to find the hosted platform's own client; no client has this name. */
export const PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID = "not-a-client-of-this-installation";

/** Types only, in the module that this answers for: there, but without a value. */
export const $event = undefined;
export const $send = undefined;

export { $end, axios, cloneSafe, ConfigurationError, END_NEEDLE, getFileStream, getFileStreamAndMetadata, jsonStringifySafe, sqlProp, sqlProxy, transformConfigForOauth };
export {
  $sendConfigRuntimeTypeChecker, HTTP_METHODS, SendConfigEmail, SendConfigEmit, SendConfigEmit_optional, SendConfigEmit_required,
  SendConfigHTTP, SendConfigS3, SendConfigSnowflake, SendConfigSQL, SendConfigSSE, sendTypeMap,
} from "./send.ts";

// The module that this answers for is CommonJS: importing its default gives all of it.
const { SendConfig: _own, ...sendExports } = send;
export default {
  ...sendExports, $end, $event, $send, axios, cloneSafe, ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL, END_NEEDLE, getFileStream,
  getFileStreamAndMetadata, jsonStringifySafe, PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID, sqlProp, sqlProxy, transformConfigForOauth,
};
