use std::sync::Arc;
use crate::{code::*, program::*};
pub(crate) fn kernel(loaded: &Arc<Loaded>, name: &str, _portable: bool) -> Result<Code, LoadError> {
    let f = loaded.module.function(name)?;
    Err(LoadError::Unsupported { module: loaded.module.name().into(), function: f.name.clone(), opcode: "".into(), span: f.span, message: "not yet".into() })
}
