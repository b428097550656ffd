//! Arguments of a host's calls, copied out of its memory: untrusted, and each read once.

use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::unix::fs::FileExt as _;

use super::socket::PAYLOAD_MAX;

/// Bytes of `struct msghdr` and, with its count, of `struct mmsghdr`, on machines of 64 bits.
const MSGHDR_BYTES: usize = 56;
pub(super) const MMSGHDR_BYTES: u64 = 64;
/// Messages that one call sends at most; the caller goes on with the rest, as after any partial
/// success.
pub(super) const MESSAGES_MAX: u64 = 64;
/// The kernel's own limit of parts.
const PARTS_MAX: u64 = 1024;
/// `struct sockaddr_storage`.
const ADDRESS_BYTES_MAX: usize = 128;

/// Where a call leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Inet(SocketAddr),
    /// `AF_UNSPEC`.
    None,
    /// `AF_NETLINK`, under a name of the kernel's choice and in no group.
    Routing,
    /// A local socket, or what else there is.
    Other,
}

/// What is to be sent.
pub(super) struct Message {
    /// None: to where the socket is connected.
    pub(super) to: Option<Address>,
    pub(super) bytes: Vec<u8>,
}

/// Reads an address.
///
/// # Errors
/// The error's number that the kernel would give.
pub(super) fn address(memory: &File, at: u64, len: u32) -> Result<Address, i32> {
    let len = usize::try_from(len).ok().filter(|l| *l <= ADDRESS_BYTES_MAX).ok_or(libc::EINVAL)?;
    parse(&read(memory, at, len)?)
}

/// Reads the arguments of a `sendto`.
pub(super) fn sendto(memory: &File, args: &[u64; 6]) -> Result<Message, i32> {
    let bytes = payload(memory, &[(args[1], args[2])])?;
    Ok(Message { to: Some(address(memory, args[4], args[5] as u32)?), bytes })
}

/// Reads a `struct msghdr` and what it points to.
pub(super) fn message(memory: &File, at: u64) -> Result<Message, i32> {
    let header = read(memory, at, MSGHDR_BYTES)?;
    let word = |n: usize| u64::from_le_bytes(std::array::from_fn(|i| header[8 * n + i]));
    // Name and its length; parts and their number; control data and its length.
    let (name, name_len, parts, count, control_len) =
        (word(0), word(1) as u32, word(2), word(3), word(5));
    if control_len != 0 {
        // It can set routes and source addresses, and pass descriptors. Node sends none.
        return Err(libc::EOPNOTSUPP);
    }
    if count > PARTS_MAX {
        return Err(libc::EMSGSIZE);
    }
    let to = if name == 0 || name_len == 0 { None } else { Some(address(memory, name, name_len)?) };
    let parts = read(memory, parts, count as usize * 16)?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| parts[at + i]));
    let parts: Vec<(u64, u64)> =
        (0..count as usize).map(|n| (number(16 * n), number(16 * n + 8))).collect();
    Ok(Message { to, bytes: payload(memory, &parts)? })
}

/// Writes how much of a message of `sendmmsg` was sent.
pub(super) fn write_sent(memory: &File, at: u64, bytes: i64) -> Result<(), i32> {
    let sent = u32::try_from(bytes).unwrap_or(u32::MAX);
    memory
        .write_all_at(&sent.to_le_bytes(), at.wrapping_add(MSGHDR_BYTES as u64))
        .map_err(|_| libc::EFAULT)
}

/// The parts in one, as far as a message may be long.
fn payload(memory: &File, parts: &[(u64, u64)]) -> Result<Vec<u8>, i32> {
    let mut bytes = Vec::new();
    for (at, len) in parts {
        // One more than may be: the kernel tells a datagram that is too long from one that fits.
        let len = usize::try_from(*len).unwrap_or(usize::MAX).min(PAYLOAD_MAX + 1 - bytes.len());
        bytes.extend(read(memory, *at, len)?);
    }
    Ok(bytes)
}

fn read(memory: &File, at: u64, len: usize) -> Result<Vec<u8>, i32> {
    let mut bytes = vec![0; len];
    memory.read_exact_at(&mut bytes, at).map_err(|_| libc::EFAULT)?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Address, i32> {
    let array = |from: usize| -> Option<[u8; 4]> { bytes.get(from..from + 4)?.try_into().ok() };
    let Some(family) = bytes.get(..2).map(|b| i32::from(u16::from_le_bytes([b[0], b[1]]))) else {
        return Err(libc::EINVAL);
    };
    let port = || bytes.get(2..4).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(libc::EINVAL);
    match family {
        libc::AF_UNSPEC => Ok(Address::None),
        libc::AF_INET if bytes.len() < 16 => Err(libc::EINVAL),
        libc::AF_INET => {
            let ip = Ipv4Addr::from(array(4).ok_or(libc::EINVAL)?);
            Ok(Address::Inet(SocketAddr::V4(SocketAddrV4::new(ip, port()?))))
        }
        libc::AF_INET6 => {
            // An older form of the structure ends before the scope.
            let ip: [u8; 16] =
                bytes.get(8..24).and_then(|b| b.try_into().ok()).ok_or(libc::EINVAL)?;
            let scope = array(24).map_or(0, u32::from_ne_bytes);
            let flow = array(4).map_or(0, u32::from_ne_bytes);
            Ok(Address::Inet(SocketAddr::V6(SocketAddrV6::new(
                Ipv6Addr::from(ip),
                port()?,
                flow,
                scope,
            ))))
        }
        libc::AF_NETLINK if bytes.len() < 12 => Err(libc::EINVAL),
        libc::AF_NETLINK if bytes[4..12] == [0; 8] => Ok(Address::Routing),
        _ => Ok(Address::Other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::socket::Raw;
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_reads_them() {
        let v4 = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9];
        assert_eq!(parse(&v4), Ok(Address::Inet("127.0.0.1:8080".parse().expect("an address"))));
        assert_eq!(parse(&v4[..15]), Err(libc::EINVAL));
        let mut v6 = [0u8; 28];
        (v6[0], v6[2], v6[3], v6[23]) = (10, 0x1f, 0x90, 1);
        assert_eq!(parse(&v6), Ok(Address::Inet("[::1]:8080".parse().expect("an address"))));
        assert_eq!(parse(&v6[..24]), Ok(Address::Inet("[::1]:8080".parse().expect("an address"))));
        assert_eq!(parse(&v6[..23]), Err(libc::EINVAL));
        assert_eq!(parse(&[1, 0, b'/', b'x', 0]), Ok(Address::Other));
        assert_eq!(parse(&[0, 0]), Ok(Address::None));
        assert_eq!(parse(&[2]), Err(libc::EINVAL));
        let mut netlink = [0u8; 12];
        netlink[0] = 16;
        assert_eq!(parse(&netlink), Ok(Address::Routing));
        assert_eq!(parse(&netlink[..11]), Err(libc::EINVAL));
        // A name or a group that it chose.
        for at in [4, 8, 11] {
            let mut chosen = netlink;
            chosen[at] = 1;
            assert_eq!(parse(&chosen), Ok(Address::Other), "{at}");
        }
    }

    #[test]
    fn what_lies_outside_of_the_memory_is_a_fault() {
        let memory = File::open("/proc/self/mem").expect("opens");
        for at in [0, 8, u64::MAX, 1 << 63, (1 << 47) - 8] {
            assert_eq!(address(&memory, at, 16).err(), Some(libc::EFAULT), "{at}");
            assert_eq!(message(&memory, at).err(), Some(libc::EFAULT), "{at}");
        }
        assert_eq!(address(&memory, 0, u32::MAX), Err(libc::EINVAL));
    }

    /// A number that an attacker would put where one is expected.
    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(0),
            1u64..200,
            1000u64..1030,
            65_500u64..65_600,
            Just(u64::MAX),
            Just(1 << 63),
            Just(u64::from(u32::MAX)),
            any::<u64>()
        ]
    }

    proptest! {
        /// Messages whose every word is a number of the attacker's or leads to memory that is
        /// there.
        #[test]
        fn messages_of_any_shape_are_read_or_refused_and_never_longer_than_one_may_be(
            words in proptest::collection::vec((number(), any::<bool>()), 7),
            parts in proptest::collection::vec((number(), any::<bool>()), 0..40),
            name in proptest::collection::vec(any::<u8>(), 128),
            family in prop::sample::select(vec![0u8, 1, 2, 10, 16, 255]),
        ) {
            let memory = File::open("/proc/self/mem").expect("opens");
            let mut name = name;
            (name[0], name[1]) = (family, 0);
            let at = |bytes: &[u8]| bytes.as_ptr() as u64;
            let mut list = Vec::new();
            for (len, is_there) in &parts {
                list.extend([if *is_there { at(&name) } else { *len }, if *is_there { len % 128 } else { *len }]);
            }
            let list: Vec<u8> = list.iter().flat_map(|word| word.to_le_bytes()).collect();
            // Name, parts and control data of what is there, where the coin says so.
            let there = [at(&name), 128, at(&list), parts.len() as u64, 0, 0, 0];
            let header: Vec<u8> = words.iter().zip(there).flat_map(|((word, is_there), there)| if *is_there { there } else { *word }.to_le_bytes()).collect();
            match message(&memory, at(&header)) {
                Ok(read) => {
                    prop_assert!(read.bytes.len() <= PAYLOAD_MAX + 1);
                    prop_assert!(!matches!(read.to, Some(Address::Inet(_))) || matches!(family, 2 | 10));
                }
                Err(errno) => prop_assert!([libc::EFAULT, libc::EINVAL, libc::EMSGSIZE, libc::EOPNOTSUPP].contains(&errno), "{errno}"),
            }
        }

        #[test]
        fn calls_with_any_arguments_are_read_or_refused(args in proptest::array::uniform6(number())) {
            let memory = File::open("/proc/self/mem").expect("opens");
            if let Ok(read) = sendto(&memory, &args) {
                prop_assert!(read.bytes.len() <= PAYLOAD_MAX + 1);
            }
            let _ = address(&memory, args[1], args[2] as u32);
        }

        #[test]
        fn what_is_decided_on_is_what_is_connected(bytes in proptest::collection::vec(any::<u8>(), 0..140), family in prop::sample::select(vec![0u8, 1, 2, 10, 16])) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = family;
            }
            if let Some(second) = bytes.get_mut(1) {
                *second = 0;
            }
            if let Ok(Address::Inet(address)) = parse(&bytes) {
                let Ok(Address::Inet(again)) = parse(Raw::of(Some(address)).bytes()) else { panic!("not read again") };
                prop_assert_eq!(again, address);
            }
        }
    }
}
