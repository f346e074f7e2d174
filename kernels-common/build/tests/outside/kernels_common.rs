//! Stands in for kernels-common: the part of it that generated code names.

pub mod module {
    #[derive(Debug)]
    pub struct Ptx {
        pub module: &'static str,
        pub compute: u32,
        pub text: &'static str,
    }

    impl Ptx {
        pub const fn new(module: &'static str, compute: u32, text: &'static str) -> Ptx {
            Ptx { module, compute, text }
        }
    }
}

#[macro_export]
macro_rules! ptx {
    ($module:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $module, ".ptx.rs"))
    };
}
