//! The kernels of the workspace, as their crates launch them.

use anyhow::{Result, ensure};
use dot::Dot;
use examples::dtype::Value;
use examples::rungs;
use half::f16;
use kernels_common::element::Element;
use kernels_common::memory::{Matrix, MatrixMut};
use transpose_padding::Transpose;
use vecadd::VecAdd;

use super::Session;

/// Elements: whole blocks everywhere, and whole blocks nowhere.
const LENGTHS: [usize; 2] = [1 << 20, 1_000_003];
/// Rows and columns, likewise.
const SHAPES: [[usize; 2]; 2] = [[1024, 1024], [1000, 1003]];

/// Launches all of them.
pub(super) fn run(session: &mut Session<'_>) -> Result<()> {
    for n in LENGTHS {
        sums::<f32>(session, n)?;
        vectors::<f32>(session, n)?;
    }
    sums::<f64>(session, LENGTHS[1])?;
    sums::<f16>(session, LENGTHS[1])?;
    sums::<i32>(session, LENGTHS[1])?;
    vectors::<f64>(session, LENGTHS[1])?;
    vectors::<f16>(session, LENGTHS[1])?;
    for shape in SHAPES {
        transposes::<u8>(session, shape)?;
        transposes::<u16>(session, shape)?;
        transposes::<u32>(session, shape)?;
        transposes::<u64>(session, shape)?;
        transposes::<u128>(session, shape)?;
    }
    Ok(())
}

/// Ones, whose sums are exact in every order.
fn ones<T: Element>(n: usize) -> Vec<T> {
    vec![T::from_f64(1.0); n]
}

fn sums<T: Value>(session: &mut Session<'_>, n: usize) -> Result<()> {
    let stream = session.stream;
    let input = stream.upload(&ones::<T>(n))?;
    for mut rung in rungs::all::<T>(stream)? {
        let subject = format!("sum/{}/{}/{}/{n}", rung.of_crate(), rung.name(), T::NAME);
        if !session.wants(&subject) {
            continue;
        }
        rung.reserve(n)?;
        let mut output = stream.alloc_zeros::<T::Sum>(1)?;
        session.subject(subject.clone(), || Ok(rung.enqueue(input.as_slice(), output.as_slice_mut())?))?;
        let sum = output.download()?[0].to_f64();
        ensure!(rung.is_racy() || sum == n as f64, "{subject}: the sum of {n} ones is {sum}");
    }
    Ok(())
}

fn vectors<T: Element>(session: &mut Session<'_>, n: usize) -> Result<()> {
    let stream = session.stream;
    let (x, y) = (stream.upload(&ones::<T>(n))?, stream.upload(&ones::<T>(n))?);
    for variant in dot::Variant::ALL {
        let subject = format!("dot/{variant}/{}/{n}", T::NAME);
        if !session.wants(&subject) {
            continue;
        }
        let mut dot = Dot::<T>::with_variant(stream, variant)?;
        dot.reserve(n)?;
        let mut output = stream.alloc_zeros::<T::Sum>(1)?;
        session.subject(subject.clone(), || Ok(dot.enqueue(&x, &y, &mut output)?))?;
        let sum = output.download()?[0].to_f64();
        ensure!(sum == n as f64, "{subject}: the dot product of {n} ones is {sum}");
    }
    for variant in vecadd::Variant::ALL {
        let subject = format!("vecadd/{variant}/{}/{n}", T::NAME);
        if !session.wants(&subject) {
            continue;
        }
        let add = VecAdd::<T>::with_variant(stream, variant)?;
        let mut z = stream.alloc_zeros::<T>(n)?;
        session.subject(subject.clone(), || Ok(add.add(&x, &y, &mut z)?))?;
        ensure!(z.download()?.iter().all(|z| z.to_f64() == 2.0), "{subject}: 1 + 1 is not 2");
    }
    Ok(())
}

fn transposes<T: bytemuck::Pod + PartialEq>(session: &mut Session<'_>, [rows, columns]: [usize; 2]) -> Result<()> {
    let stream = session.stream;
    let bytes: Vec<u8> = (0..rows * columns * size_of::<T>()).map(|byte| (byte % 251) as u8).collect();
    let host: Vec<T> = bytemuck::pod_collect_to_vec(&bytes);
    let x = stream.upload(&host)?;
    for variant in transpose_padding::Variant::ALL {
        let subject = format!("transpose/{variant}/{}/{rows}x{columns}", size_of::<T>());
        if !session.wants(&subject) {
            continue;
        }
        let transpose = Transpose::<T>::with_variant(stream, variant)?;
        let mut z = stream.alloc_zeros::<T>(rows * columns)?;
        session.subject(subject.clone(), || {
            let input = Matrix::new(&x, rows, columns)?;
            Ok(transpose.enqueue(input, MatrixMut::new(&mut z, columns, rows)?)?)
        })?;
        let z = z.download()?;
        let right = (0..rows * columns).all(|at| z[at] == host[at % rows * columns + at / rows]);
        ensure!(right, "{subject}: not the transpose");
    }
    Ok(())
}
