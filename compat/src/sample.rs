//! A random sample that its seed repeats, on any machine and with any version of any crate.

use millrace_bundle::IndexEntry;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// `count` of the entries, each as likely as the others.
pub fn choose(entries: &[IndexEntry], count: usize, seed: u64) -> Vec<IndexEntry> {
    let mut random = Random(seed);
    let mut all: Vec<&IndexEntry> = entries.iter().collect();
    let count = count.min(all.len());
    for index in 0..count {
        let left = u64::try_from(all.len() - index).unwrap_or(1);
        let other = index + usize::try_from(random.next() % left).unwrap_or(0);
        all.swap(index, other);
    }
    all.into_iter().take(count).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_sample() {
        let entry = |n: usize| IndexEntry {
            key: n.to_string(),
            name: String::new(),
            description: String::new(),
            version: String::new(),
            component_type: "source".into(),
            app: String::new(),
            path: String::new(),
            hash: String::new(),
        };
        let entries: Vec<_> = (0..100).map(entry).collect();
        let keys = |seed| choose(&entries, 10, seed).into_iter().map(|e| e.key).collect::<Vec<_>>();
        assert_eq!(keys(7), keys(7));
        assert_ne!(keys(7), keys(8));
        assert_eq!(choose(&entries, 1000, 1).len(), 100);
    }
}
