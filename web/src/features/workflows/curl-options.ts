/** Options of `curl` 8: which take a value, and which change nothing of the request that a step makes. Pure. */

/** Options whose next word is their value, as `letter:name` or `name`. */
const WITH_VALUE = `
   abstract-unix-socket alt-svc aws-sigv4 cacert capath E:cert cert-type ciphers K:config
  connect-timeout connect-to C:continue-at b:cookie c:cookie-jar create-file-mode crlfile
  curves d:data data-ascii data-binary data-raw data-urlencode delegation dns-interface
  dns-ipv4-addr dns-ipv6-addr dns-servers doh-url D:dump-header egd-file engine etag-compare
  etag-save expect100-timeout F:form form-string ftp-account ftp-alternative-to-user
  ftp-method P:ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms H:header h:help
  hostpubmd5 hostpubsha256 hsts interface json keepalive-time key key-type krb libcurl
  limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize max-redirs
  m:max-time netrc-file noproxy oauth2-bearer o:output output-dir parallel-max pass
  pinnedpubkey preproxy proto proto-default proto-redir x:proxy proxy-cacert proxy-capath
  proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key
  proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers
  proxy-tlsauthtype proxy-tlspassword proxy-tlsuser U:proxy-user proxy1.0 pubkey Q:quote
  random-file r:range rate e:referer X:request request-target resolve retry retry-delay
  retry-max-time sasl-authzid service-name socks4 socks4a socks5 socks5-gssapi-service
  socks5-hostname Y:speed-limit y:speed-time stderr t:telnet-option tftp-blksize z:time-cond
  tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii unix-socket
  T:upload-file url url-query u:user A:user-agent w:write-out variable ipfs-gateway
  haproxy-clientip trace-config ech ip-tos vlan-priority keepalive-cnt sigalgs
  parallel-max-host upload-flags
`;

/** Options without a value. */
const WITHOUT = `
  anyauth a:append basic cert-status compressed compressed-ssh create-dirs crlf digest
  q:disable disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure
  f:fail fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret
  ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control G:get g:globoff haproxy-protocol I:head
  http0.9 0:http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only
  ignore-content-length i:include k:insecure 4:ipv4 6:ipv6 j:junk-session-cookies
  l:list-only L:location location-trusted mail-rcpt-allowfails M:manual metalink negotiate
  n:netrc netrc-optional no-alpn N:no-buffer no-clobber no-keepalive no-npn
  no-progress-meter no-sessionid ntlm ntlm-wb Z:parallel parallel-immediate path-as-is
  post301 post302 post303 #:progress-bar proxy-anyauth proxy-basic proxy-digest
  proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert
  proxy-tlsv1 p:proxytunnel raw J:remote-header-name O:remote-name remote-name-all
  R:remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir S:show-error
  s:silent socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast
  ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort 2:sslv2 3:sslv3
  styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options 1:tlsv1
  tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-time B:use-ascii v:verbose V:version
  xattr ca-native proxy-ca-native trace-ids mptcp skip-existing dump-ca-embed tls-earlydata
  out-null ::next
`;

/** What these ask for is of the terminal, the connection or the output, and not of the request. */
const QUIET = new Set(
  `silent show-error no-progress-meter progress-bar verbose include output output-dir remote-name
   remote-name-all remote-header-name create-dirs write-out fail fail-with-body fail-early location
   location-trusted compressed no-buffer styled-output basic connect-timeout max-time retry
   retry-delay retry-max-time retry-all-errors retry-connrefused http1.0 http1.1 http2
   http2-prior-knowledge http3 ipv4 ipv6 tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 stderr trace
   trace-ascii trace-time keepalive-time no-keepalive tcp-nodelay raw disable path-as-is noproxy
   cookie-jar dump-header expect100-timeout no-alpn parallel parallel-immediate ssl-no-revoke
   junk-session-cookies max-redirs post301 post302 post303 suppress-connect-headers`.split(/\s+/),
);

const letters = new Map<string, string>();
const takesValue = new Map<string, boolean>();
for (const [list, takes] of [
  [WITH_VALUE, true],
  [WITHOUT, false],
] as const) {
  for (const word of list.trim().split(/\s+/)) {
    const [, letter, name = ""] = /^(?:(.):)?(.+)$/.exec(word) ?? [];
    takesValue.set(name, takes);
    if (letter !== undefined) letters.set(letter, name);
  }
}

/** An option by its long name, and as it was written. */
export type Option = { name: string; written: string; value: string; isQuiet: boolean };

export type Parsed =
  | { options: Option[]; addresses: string[]; hasMore: boolean }
  /** An option that no `curl` has, or that lacks its value. */
  | { problem: string };

const HERE = /<<(['"]?)(\w+)\1([^\n]*)\n((?:[^\n]*\n)*?)\2[ \t]*(?=\n|$)/;
const HERE_STRING = /<<<[ \t]*'([^']*)'/;

/** The line without a here-document or a here-string, and what that gives to `@-`. What a shell would expand in it is left as it is. */
export function withoutInput(line: string): { line: string; input: string | undefined } {
  const string = HERE_STRING.exec(line);
  if (string !== null) return { line: line.replace(string[0], ""), input: `${string[1]}\n` };
  const [whole = "", quote, , rest = "", input = ""] = HERE.exec(line) ?? [];
  if (whole === "" || (quote === "" && /[$`\\]/.test(input))) return { line, input: undefined };
  return { line: line.replace(whole, () => rest), input };
}

/** An option that reads `@-` with what stands there, as curl reads it: `-d` takes no ends of lines. */
export function withInput(option: Option, input: string | undefined): Option {
  const { name, value } = option;
  if (input === undefined || value !== "@-") return option;
  if (name === "data-binary") return { ...option, name: "data-raw", value: input };
  if (name === "json") return { ...option, value: input };
  const isData = name === "data" || name === "data-ascii";
  return isData ? { ...option, name: "data-raw", value: input.replaceAll("\n", "") } : option;
}

/** Reads the words after `curl`, up to `--next`, which begins another request. */
export function optionsOf(words: readonly string[]): Parsed {
  const options: Option[] = [];
  const addresses: string[] = [];
  let at = 0;
  let problem: string | undefined;
  /** `inline`: what stands in the same word after the option's name. */
  const take = (name: string, written: string, inline: string | undefined) => {
    let value = inline ?? "";
    if (takesValue.get(name) === true && inline === undefined) {
      const next = words[at + 1];
      if (next === undefined) problem ??= `The option ${written} has no value.`;
      value = next ?? "";
      at += 1;
    }
    options.push({ name, written, value, isQuiet: QUIET.has(name) });
  };
  const unknown = (written: string) => {
    problem ??= `curl has no option ${written}.`;
  };
  for (; at < words.length && problem === undefined; at += 1) {
    const word = words[at] ?? "";
    if (word === "--next" || word === "-:") return { options, addresses, hasMore: true };
    if (word.startsWith("--") && word !== "--") {
      const [, written = "", name = "", inline] = /^(--([^=]*))(?:=(.*))?$/s.exec(word) ?? [];
      const plain = takesValue.has(name) ? name : name.replace(/^no-/, "");
      if (!takesValue.has(plain) || (plain !== name && takesValue.get(plain))) unknown(written);
      // `--no-location` switches off what was on.
      else if (plain === name) take(name, written, inline);
      else options.splice(0, options.length, ...options.filter((each) => each.name !== plain));
    } else if (/^-[^-]/s.test(word)) {
      for (let letter = 1; letter < word.length; letter += 1) {
        const written = `-${word.charAt(letter)}`;
        const name = letters.get(word.charAt(letter));
        if (name === undefined) unknown(written);
        else if (takesValue.get(name) === true) {
          const rest = word.slice(letter + 1);
          take(name, written, rest === "" ? undefined : rest);
          break;
        } else take(name, written, undefined);
      }
    } else if (word !== "" && word !== "--") addresses.push(word);
  }
  return problem === undefined ? { options, addresses, hasMore: false } : { problem };
}
