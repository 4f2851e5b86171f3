//! BTF, the kernel's description of its own types: offsets of structure members, and names of constants.
//!
//! The format is that of Documentation/bpf/btf.rst. The data comes from the running kernel, but this module does not
//! rely on it being well formed: every access is within bounds, and every walk ends.

use std::collections::BTreeMap;

/// `struct btf_header`: the magic number, and the length of the part that is read here.
const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
/// Sizes of `struct btf_type`, `struct btf_member`, `struct btf_enum` and `struct btf_param`, bytes.
const TYPE: usize = 12;
const MEMBER: usize = 12;
const CONSTANT: usize = 8;
const PARAMETER: usize = 8;

/// Kinds of types (linux/btf.h).
const POINTER: u32 = 2;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 13;
/// Typedef, volatile, const, restrict and type tag: names and qualifiers of the type that follows.
const TRANSPARENT: [u32; 5] = [TYPEDEF, 9, 10, 11, 18];

/// Longest chain of types that is followed. Those of the kernel are a tenth as long.
const DEEPEST: u32 = 32;

/// Table of all types of a kernel.
pub(crate) struct Btf {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Offset of each type in `types`. The first type has the number 1.
    starts: Vec<usize>,
}

/// Type, as it is stored in the table.
#[derive(Clone, Copy)]
struct BtfType {
    name: u32,
    kind: u32,
    /// Number of members, constants or parameters that follow.
    count: usize,
    /// `true` if the offsets of members also contain the width of a bit field.
    has_bit_fields: bool,
    /// Number of the type that this type refers to, if it refers to one.
    referenced: u32,
    /// Offset of the first member.
    body: usize,
}

impl Btf {
    /// Parses a table such as `/sys/kernel/btf/vmlinux`. Returns `None` if the bytes are not one.
    pub(crate) fn parse(all: &[u8]) -> Option<Self> {
        let magic = u16::from_ne_bytes(all.get(..2)?.try_into().ok()?);
        if magic != MAGIC || all.len() < HEADER {
            return None;
        }
        let field = |at: usize| read_u32(all, at).and_then(|value| usize::try_from(value).ok());
        let header = field(4)?;
        let section = |from: usize, length: usize| {
            let from = header.checked_add(from)?;
            all.get(from..from.checked_add(length)?).map(<[u8]>::to_vec)
        };
        let types = section(field(8)?, field(12)?)?;
        let strings = section(field(16)?, field(20)?)?;
        let mut starts = Vec::new();
        let mut at = 0;
        while at < types.len() {
            starts.push(at);
            at = read_type(&types, at)?.end()?;
        }
        Some(Self { types, strings, starts })
    }

    /// Returns the offset of a nested member in a structure, bytes: `net`, then `ns`, then `inum`. Members of a
    /// structure without a name count as members of the structure around it, as in C.
    pub(crate) fn offset(&self, structure: &str, path: &[&str]) -> Option<i16> {
        let mut within = self.find_type(structure, STRUCT)?;
        let mut bits: u32 = 0;
        for name in path {
            let (offset, member) = self.member(within, name, DEEPEST)?;
            bits = bits.checked_add(offset)?;
            within = self.resolve(member)?;
        }
        bits.is_multiple_of(8).then(|| i16::try_from(bits / 8).ok())?
    }

    /// Returns the constants of an enumeration, by value.
    pub(crate) fn constants(&self, enumeration: &str) -> Option<BTreeMap<u32, &str>> {
        let one = self.find_type(enumeration, ENUM)?;
        let constant = |n: usize| {
            let at = one.body + n * CONSTANT;
            Some((read_u32(&self.types, at + 4)?, self.text(read_u32(&self.types, at)?)?))
        };
        (0..one.count).map(constant).collect()
    }

    /// Returns the parameters of a function type: for each, the name of the structure that it points to, or an empty
    /// text if it does not point to one.
    pub(crate) fn parameters(&self, function: &str) -> Option<Vec<&str>> {
        let pointer = self.resolve(self.find_type(function, TYPEDEF)?.referenced)?;
        let function = self.resolve(pointer.referenced)?;
        if pointer.kind != POINTER || function.kind != FUNCTION {
            return None;
        }
        let parameter = |n: usize| {
            let kind = read_u32(&self.types, function.body + n * PARAMETER + 4)?;
            Some(self.pointed_to(kind).unwrap_or_default())
        };
        (0..function.count).map(parameter).collect()
    }

    fn pointed_to(&self, kind: u32) -> Option<&str> {
        let pointer = self.resolve(kind).filter(|one| one.kind == POINTER)?;
        let structure = self.resolve(pointer.referenced).filter(|one| one.kind == STRUCT)?;
        self.text(structure.name)
    }

    fn find_type(&self, name: &str, kind: u32) -> Option<BtfType> {
        let mut all = self.starts.iter().filter_map(|&start| read_type(&self.types, start));
        all.find(|one| one.kind == kind && self.has_name(one.name, name))
    }

    /// Returns the type of this number without its names and qualifiers.
    fn resolve(&self, mut id: u32) -> Option<BtfType> {
        for _ in 0..DEEPEST {
            let at = usize::try_from(id).ok()?.checked_sub(1)?;
            let one = read_type(&self.types, *self.starts.get(at)?)?;
            if !TRANSPARENT.contains(&one.kind) {
                return Some(one);
            }
            id = one.referenced;
        }
        None
    }

    /// Returns the offset of a member in a structure, bits, and the number of its type.
    fn member(&self, within: BtfType, name: &str, depth: u32) -> Option<(u32, u32)> {
        if within.kind != STRUCT && within.kind != UNION {
            return None;
        }
        let depth = depth.checked_sub(1)?;
        (0..within.count).find_map(|n| {
            let at = within.body + n * MEMBER;
            let [called, kind, offset] = [
                read_u32(&self.types, at)?,
                read_u32(&self.types, at + 4)?,
                read_u32(&self.types, at + 8)?,
            ];
            let offset = if within.has_bit_fields { offset & 0x00ff_ffff } else { offset };
            if called != 0 {
                return self.has_name(called, name).then_some((offset, kind));
            }
            let (further, kind) = self.member(self.resolve(kind)?, name, depth)?;
            Some((offset.checked_add(further)?, kind))
        })
    }

    fn has_name(&self, at: u32, name: &str) -> bool {
        let rest = usize::try_from(at).ok().and_then(|at| self.strings.get(at..));
        let rest = rest.and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn text(&self, at: u32) -> Option<&str> {
        let rest = self.strings.get(usize::try_from(at).ok()?..)?;
        std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
    }
}

impl BtfType {
    /// Returns the offset of the next type. Returns `None` if the kind of this type is unknown, because then its length
    /// is unknown.
    fn end(self) -> Option<usize> {
        let (fixed, each) = match self.kind {
            1 | 14 | 17 => (4, 0),
            3 => (12, 0),
            STRUCT | UNION => (0, MEMBER),
            ENUM => (0, CONSTANT),
            FUNCTION => (0, PARAMETER),
            15 | 19 => (0, 12),
            POINTER | 7..=12 | 16 | 18 => (0, 0),
            _ => return None,
        };
        self.body.checked_add(fixed + each * self.count)
    }
}

fn read_type(types: &[u8], at: usize) -> Option<BtfType> {
    let info = read_u32(types, at.checked_add(4)?)?;
    Some(BtfType {
        name: read_u32(types, at)?,
        kind: info >> 24 & 0x1f,
        count: (info & 0xffff) as usize,
        has_bit_fields: info >> 31 == 1,
        referenced: read_u32(types, at + 8)?,
        body: at + TYPE,
    })
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds a table of these types, over these strings.
    fn table(types: &[u32], strings: &[u8]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (length, names) = (types.len() as u32, strings.len() as u32);
        let mut all = MAGIC.to_ne_bytes().to_vec();
        all.extend([1, 0]);
        all.extend([24, 0, length, length, names].iter().flat_map(|word: &u32| word.to_ne_bytes()));
        [all, types, strings.to_vec()].concat()
    }

    fn info(kind: u32, count: u32) -> u32 {
        kind << 24 | count
    }

    /// Returns `typedef int …; struct outer { int a; struct { union { int b; inner_t c; }; }; }`, where `inner_t` is a
    /// `struct { int d; int e; }`; and `enum reasons { NONE, FULL = 6 }`.
    fn example() -> Vec<u8> {
        let strings = b"\0int\0outer\0a\0b\0c\0inner_t\0d\0e\0reasons\0NONE\0FULL\0";
        let name = |text: &str| {
            let text = format!("\0{text}\0");
            let found = strings.windows(text.len()).position(|some| some == text.as_bytes());
            found.unwrap() as u32 + 1
        };
        let types = [
            vec![name("int"), info(1, 0), 4, 0],
            vec![0, info(STRUCT, 2), 8, name("d"), 1, 0, name("e"), 1, 32],
            vec![name("inner_t"), info(TYPEDEF, 0), 2],
            vec![0, info(UNION, 2), 8, name("b"), 1, 0, name("c"), 3, 0],
            vec![0, info(STRUCT, 1), 8, 0, 4, 0],
            vec![name("outer"), info(STRUCT, 2), 12, name("a"), 1, 0, 0, 5, 32],
            vec![name("reasons"), info(ENUM, 2), 4, name("NONE"), 0, name("FULL"), 6],
        ];
        table(&types.concat(), strings)
    }

    #[test]
    fn members_of_members_without_a_name_are_found() {
        let btf = Btf::parse(&example()).unwrap();
        assert_eq!(btf.offset("outer", &["a"]), Some(0));
        assert_eq!(btf.offset("outer", &["b"]), Some(4));
        assert_eq!(btf.offset("outer", &["c", "e"]), Some(8));
        for path in [&["d"][..], &["a", "b"], &["c", "f"]] {
            assert_eq!(btf.offset("outer", path), None, "{path:?}");
        }
        assert_eq!(btf.constants("reasons").unwrap(), BTreeMap::from([(0, "NONE"), (6, "FULL")]));
        assert!(btf.constants("outer").is_none() && btf.parameters("inner_t").is_none());
    }

    #[test]
    fn this_kernel_describes_itself() {
        // Some kernels have no BTF, and some containers hide it. Then no reasons are reported.
        let Ok(all) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            let refused = crate::drops::drop_reasons().unwrap_err();
            assert!(!refused.remedy.is_empty(), "{refused}");
            return;
        };
        let btf = Btf::parse(&all).unwrap();
        // The member after two pointers. The offset of a device's member is proved by the counts of its namespace
        // (`drops`).
        assert_eq!(btf.offset("sk_buff", &["dev"]), Some(2 * size_of::<usize>() as i16));
        assert!(btf.offset("net_device", &["nd_net", "net"]).is_some());
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_the_reader(at in 0usize..300, bytes: [u8; 6], cut in 0usize..300) {
            let mut all = example();
            for (n, byte) in bytes.into_iter().enumerate() {
                let length = all.len();
                all[(at + n) % length] = byte;
            }
            all.truncate(all.len().max(cut) - cut.min(all.len() / 2));
            if let Some(btf) = Btf::parse(&all) {
                let _ = (btf.offset("outer", &["c", "e"]), btf.constants("reasons"), btf.parameters("inner_t"));
            }
        }

        #[test]
        fn nor_does_a_table_of_garbage(words in proptest::collection::vec(0u32..40, 0..60), kinds: [u8; 8]) {
            let mut words = words;
            for (n, kind) in kinds.into_iter().enumerate() {
                if let Some(word) = words.get_mut(3 * n + 1) {
                    *word |= u32::from(kind % 20) << 24;
                }
            }
            if let Some(btf) = Btf::parse(&table(&words, b"\0outer\0e\0")) {
                let _ = (btf.offset("outer", &["e", "e"]), btf.constants("outer"), btf.parameters("outer"));
            }
        }
    }
}
