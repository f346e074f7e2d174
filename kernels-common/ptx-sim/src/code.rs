#[derive(Debug, Default)]
pub(crate) struct Code { pub(crate) registers: u32, pub(crate) static_shared: u32, pub(crate) functions: Vec<FunctionInfo> }
#[derive(Debug)]
pub(crate) struct FunctionInfo { pub(crate) local_bytes: u32 }
