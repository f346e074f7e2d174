//! The kernels of `accesses.cu`, and the patterns of addresses that they are given.
//!
//! The program that launches them on a GPU under a profiler (`bench counters`) includes this file too, so that both
//! make the same accesses.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// Accesses that a kernel makes, each an instruction of its own.
pub(crate) const SLOTS: usize = 16;
/// Elements that patterns reach.
pub(crate) const ELEMENTS: usize = 1040;
/// In place of an offset: the lane makes no access.
const NO_ACCESS: u32 = u32::MAX;

/// A kernel: one kind of access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Its name in the PTX.
    pub(crate) kernel: &'static str,
    /// Bytes that a lane accesses.
    pub(crate) width: u32,
}

/// Every kernel.
pub(crate) const KINDS: [Kind; 41] = [
    Kind { kernel: "ld_shared_1", width: 1 },
    Kind { kernel: "ld_shared_2", width: 2 },
    Kind { kernel: "ld_shared_4", width: 4 },
    Kind { kernel: "ld_shared_8", width: 8 },
    Kind { kernel: "ld_shared_16", width: 16 },
    Kind { kernel: "st_shared_1", width: 1 },
    Kind { kernel: "st_shared_2", width: 2 },
    Kind { kernel: "st_shared_4", width: 4 },
    Kind { kernel: "st_shared_8", width: 8 },
    Kind { kernel: "st_shared_16", width: 16 },
    Kind { kernel: "atom_shared_add_u32", width: 4 },
    Kind { kernel: "atom_shared_exch_b32", width: 4 },
    Kind { kernel: "atom_shared_cas_b32", width: 4 },
    Kind { kernel: "atom_shared_cas_b64", width: 8 },
    Kind { kernel: "atom_shared_add_f32", width: 4 },
    Kind { kernel: "atom_shared_add_u64", width: 8 },
    Kind { kernel: "red_shared_add_u32", width: 4 },
    Kind { kernel: "ld_global_1", width: 1 },
    Kind { kernel: "ld_global_2", width: 2 },
    Kind { kernel: "ld_global_4", width: 4 },
    Kind { kernel: "ld_global_8", width: 8 },
    Kind { kernel: "ld_global_16", width: 16 },
    Kind { kernel: "ld_volatile_global_4", width: 4 },
    Kind { kernel: "st_global_1", width: 1 },
    Kind { kernel: "st_global_2", width: 2 },
    Kind { kernel: "st_global_4", width: 4 },
    Kind { kernel: "st_global_8", width: 8 },
    Kind { kernel: "st_global_16", width: 16 },
    Kind { kernel: "atom_global_add_u32", width: 4 },
    Kind { kernel: "atom_global_add_f32", width: 4 },
    Kind { kernel: "atom_global_add_u64", width: 8 },
    Kind { kernel: "atom_global_cas_b32", width: 4 },
    Kind { kernel: "atom_global_cas_b64", width: 8 },
    Kind { kernel: "red_global_add_u32", width: 4 },
    Kind { kernel: "red_global_add_f32", width: 4 },
    Kind { kernel: "red_global_add_u64", width: 8 },
    Kind { kernel: "ld_generic_global_4", width: 4 },
    Kind { kernel: "ld_generic_shared_4", width: 4 },
    Kind { kernel: "ld_constant_4", width: 4 },
    Kind { kernel: "ld_local_4", width: 4 },
    Kind { kernel: "st_local_4", width: 4 },
];

/// Which element each lane accesses.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// What tells it from the others.
    pub(crate) name: String,
    /// The element of each lane; `None` where it makes no access.
    pub(crate) elements: [Option<u32>; LANES],
}

impl Pattern {
    /// What a slot of a kernel needs: byte offsets for elements of `width` bytes.
    pub(crate) fn offsets(&self, width: u32) -> [u32; LANES] {
        self.elements.map(|element| element.map_or(NO_ACCESS, |element| element * width))
    }
}

/// The offsets of a launch: patterns in the order of its slots, and no accesses in those that are left.
pub(crate) fn offsets<'a>(patterns: impl IntoIterator<Item = &'a Pattern>, width: u32) -> Vec<u32> {
    let mut offsets: Vec<u32> = patterns.into_iter().flat_map(|pattern| pattern.offsets(width)).collect();
    offsets.resize(SLOTS * LANES, NO_ACCESS);
    offsets
}

/// Every pattern. Launches take them in this order, [`SLOTS`] at a time.
pub(crate) fn patterns() -> Vec<Pattern> {
    let mut list = List::default();
    list.shared_elements();
    list.strides();
    list.permutations();
    list.partial_warps();
    list.two_lanes();
    list.random();
    list.list
}

/// The elements `0, 64, …` lie in the same bank, whatever their size.
const ROW: u32 = 64;

#[derive(Default)]
struct List {
    list: Vec<Pattern>,
    seed: u64,
}

impl List {
    fn add(&mut self, name: impl Into<String>, element: impl FnMut(u32) -> Option<u32>) {
        let mut element = element;
        let elements = std::array::from_fn(|lane| element(lane as u32));
        self.list.push(Pattern { name: name.into(), elements });
    }

    /// All lanes access, by a function of the lane.
    fn full(&mut self, name: impl Into<String>, element: impl Fn(u32) -> u32) {
        self.add(name, |lane| Some(element(lane)));
    }

    /// A number below `bound`, by splitmix64.
    fn below(&mut self, bound: u32) -> u32 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.seed ^ self.seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % u64::from(bound)) as u32
    }

    fn random_elements(&mut self, bound: u32) -> [u32; LANES] {
        std::array::from_fn(|_| self.below(bound))
    }

    /// Lanes that have their element in common with others.
    fn shared_elements(&mut self) {
        self.full("all lanes one element", |_| 0);
        self.full("halves apart, in one bank", |lane| lane / 16 * ROW);
        self.full("halves apart, in two banks", |lane| lane / 16 * (ROW + 1));
        for group in [2, 4, 8] {
            self.full(format!("{group} neighbours alike"), |lane| lane / group);
            self.full(format!("{group} neighbours alike, in one bank"), |lane| lane / group * ROW);
        }
        for period in [16, 8, 4, 2] {
            self.full(format!("repeats after {period} lanes"), |lane| lane % period);
        }
        self.full("repeats after 16 lanes, in one bank", |lane| lane % 16 * ROW);
        for bit in [1, 2, 4, 8] {
            self.full(format!("lanes {bit} apart alike"), |lane| lane & !bit);
        }
        for bit in [1, 2, 4] {
            self.full(format!("lanes {bit} apart alike, 2 elements a lane"), |lane| 2 * (lane & !bit));
        }
        self.full("lanes 1 apart alike, then 2 apart, by half", |lane| lane & if lane < 16 { !1 } else { !2 });
        self.full("lanes 1 apart alike, then 2 apart, by quarter", |lane| lane & if lane & 8 == 0 { !1 } else { !2 });
        self.full("lanes 1 apart alike, first half only", |lane| lane & if lane < 16 { !1 } else { !0 });
        self.full("lanes 1 apart alike, first quarter only", |lane| lane & if lane < 8 { !1 } else { !0 });
        self.full("lanes 0 and 1 alike", |lane| lane.max(1));
    }

    fn strides(&mut self) {
        for stride in 1..=33 {
            self.full(format!("stride {stride}"), |lane| stride * lane);
        }
        self.full("stride -1", |lane| 31 - lane);
        self.full("stride -2", |lane| 2 * (31 - lane));
        for start in [1, 2, 3, 5, 7, 8] {
            self.full(format!("stride 1 from element {start}"), |lane| lane + start);
        }
        self.full("stride 2 from element 1", |lane| 2 * lane + 1);
    }

    fn permutations(&mut self) {
        for mask in [1, 2, 4, 8, 16, 21] {
            self.full(format!("lane xor {mask}"), |lane| lane ^ mask);
        }
        self.full("lane with its bits reversed", |lane| lane.reverse_bits() >> 27);
        self.full("lane rotated by 5", |lane| (lane + 5) % 32);
        for number in 1..=4 {
            let keys = self.random_elements(u32::MAX);
            let rank = |lane: u32| keys.iter().filter(|&&key| key < keys[lane as usize]).count() as u32;
            self.full(format!("random permutation {number}"), rank);
        }
    }

    fn partial_warps(&mut self) {
        let some = |mask: u32, lane: u32, stride: u32| (mask >> lane & 1 != 0).then_some(lane * stride);
        for (name, mask) in [
            ("lane 0 alone", 1),
            ("lane 31 alone", 1 << 31),
            ("lower half", 0xffff),
            ("upper half", 0xffff_0000),
            ("even lanes", 0x5555_5555),
            ("odd lanes", 0xaaaa_aaaa),
            ("lanes without bit 1", 0x3333_3333),
            ("lanes without bit 2", 0x0f0f_0f0f),
            ("lanes without bit 3", 0x00ff_00ff),
            ("first quarter", 0xff),
            ("third quarter", 0x00ff_0000),
            ("17 lanes", 0x0001_ffff),
            ("lanes 8 to 23", 0x00ff_ff00),
            ("all but lane 13", !(1 << 13)),
            ("even lanes of the lower half, lanes without bit 1 of the upper", 0x3333_5555),
            ("one of each pair", 0x6996_9669),
        ] {
            self.add(format!("stride 1, {name}"), |lane| some(mask, lane, 1));
        }
        for (stride, mask, name) in [
            (2, 0x5555_5555, "even lanes"),
            (2, 0x3333_3333, "lanes without bit 1"),
            (2, 0xffff, "lower half"),
            (16, 0x5555_5555, "even lanes"),
            (16, 0x0f0f_0f0f, "lanes without bit 2"),
        ] {
            self.add(format!("stride {stride}, {name}"), |lane| some(mask, lane, stride));
        }
        for number in 1..=4 {
            let mask = self.below(u32::MAX);
            self.add(format!("stride 1, random lanes {number}"), |lane| some(mask, lane, 1));
        }
    }

    /// Two lanes whose elements lie in one bank: whether they are served together.
    fn two_lanes(&mut self) {
        for other in [1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31] {
            let element = |lane| [(0, 0), (other, ROW)].iter().find(|pair| pair.0 == lane).map(|pair| pair.1);
            self.add(format!("lanes 0 and {other} in one bank"), element);
        }
    }

    fn random(&mut self) {
        for bound in [16, 32, 64, 128, 256, 1024] {
            for number in 1..=2 {
                let elements = self.random_elements(bound);
                self.full(format!("random below {bound}, {number}"), |lane| elements[lane as usize]);
            }
            let (elements, mask) = (self.random_elements(bound), self.below(u32::MAX));
            let element = |lane| (mask >> lane & 1 != 0).then_some(elements[lane as usize]);
            self.add(format!("random below {bound}, random lanes"), element);
        }
        for bit in [1, 2, 4, 8, 16] {
            for number in 1..=2 {
                let elements = self.random_elements(1024);
                let element = |lane| elements[(lane & !bit) as usize];
                self.full(format!("random, lanes {bit} apart alike, {number}"), element);
            }
        }
        for bit in [1, 2] {
            let (elements, choices) = (self.random_elements(1024), self.random_elements(3));
            // In each pair both have one element, or one of them has none.
            let element = |lane: u32| {
                let pair = (lane & !bit) as usize;
                let active = [true, lane & bit == 0, lane & bit != 0][choices[pair] as usize];
                active.then_some(elements[pair])
            };
            self.add(format!("random, lanes {bit} apart alike or alone"), element);
        }
        let (elements, choices) = (self.random_elements(1024), self.random_elements(2));
        let element = |lane: u32| elements[(lane & !(1 + choices[lane as usize / 4])) as usize];
        self.full("random, in each four lanes 1 or 2 apart alike", element);
    }
}
