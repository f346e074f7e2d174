//! PTX texts as build scripts embed them. This file stands alone: the tests of `kernels-build` compile it by itself.

/// One PTX text of a crate, embedded by its build script. See [`ptx!`](crate::ptx).
#[derive(Clone, Copy, Debug)]
pub struct Ptx {
    module: &'static str,
    compute: u32,
    text: &'static str,
}

impl Ptx {
    /// The PTX of `module` for compute capability `compute` (75 for 7.5) and later.
    #[must_use]
    pub const fn new(module: &'static str, compute: u32, text: &'static str) -> Self {
        Self { module, compute, text }
    }

    /// All texts of a module, from what a build script wrote: for [`ptx!`](crate::ptx).
    #[doc(hidden)]
    #[must_use]
    pub const fn all<const N: usize>(written: [(&'static str, u32, &'static str); N]) -> [Self; N] {
        let mut all = [Self::new("", 0, ""); N];
        let mut at = 0;
        while at < N {
            let (module, compute, text) = written[at];
            all[at] = Self::new(module, compute, text);
            at += 1;
        }
        all
    }

    /// The name of the module: that of its source file, without the extension.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// The least compute capability that runs it: major, minor.
    #[must_use]
    pub const fn capability(&self) -> (u32, u32) {
        (self.compute / 10, self.compute % 10)
    }

    /// The text.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

/// The PTX texts that a build script made with `kernels-build`, as a `&'static [Ptx]`: one for each compute capability.
///
/// ```text
/// const PTX: &[kernels_common::module::Ptx] = kernels_common::ptx!("dot");
/// ```
///
/// The name is the one given to `kernels_build::Ptx::new` in `build.rs`, letter by letter: after
/// `Ptx::new("my-kernel")` it is `ptx!("my-kernel")`. With another one, the compiler cannot read a file `….ptx.rs`.
#[macro_export]
macro_rules! ptx {
    ($module:literal) => {
        const {
            &$crate::module::Ptx::all(include!(concat!(
                env!(
                    "OUT_DIR",
                    "`kernels_common::ptx!` needs a build script: a file build.rs with `fn main() { \
                     kernels_build::Ptx::new(\"NAME\").build(); }`, and kernels-build in [build-dependencies]"
                ),
                "/",
                $module,
                ".ptx.rs"
            )))
        }
    };
}
