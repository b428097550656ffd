//! Gzip reader for archives of several members, one after the other, as some tools write them.

use std::io::Read;

use flate2::bufread::GzDecoder;

/// How a member begins.
const BEGIN: &[u8] = b"\x1f\x8b";

/// Decompresses all members. What follows the last one and is none is passed over, as Node does.
pub(crate) struct Members<'a> {
    decoder: GzDecoder<&'a [u8]>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { decoder: GzDecoder::new(bytes) }
    }
}

impl Read for Members<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.decoder.read(buffer)?;
            let rest = *self.decoder.get_ref();
            if read > 0 || buffer.is_empty() || !rest.starts_with(BEGIN) {
                return Ok(read);
            }
            self.decoder = GzDecoder::new(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn members_are_read_to_the_end() {
        let member = |text: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text).expect("writes");
            packed.finish().expect("packs")
        };
        let read = |packed: Vec<u8>| {
            let mut text = String::new();
            Members::new(&packed).read_to_string(&mut text).map(|_| text)
        };
        let three = [member(b"one "), member(b""), member(b"two")].concat();
        assert_eq!(read(three.clone()).expect("reads"), "one two");
        assert_eq!(read([&three[..], &[0; 512]].concat()).expect("reads"), "one two");
        assert!(read(three[..three.len() - 4].to_vec()).is_err());
        assert!(read(b"no gzip".to_vec()).is_err());
        assert!(read(Vec::new()).is_err());
    }
}
