//! The scope is used after it has ended.

use kernels_common::{error::Result, stream::Stream};

pub fn test(stream: &Stream) -> Result<()> {
    let mut kept = None;
    stream.scope(|scope| {
        kept = Some(scope);
        Ok(())
    })
}

fn main() {}
