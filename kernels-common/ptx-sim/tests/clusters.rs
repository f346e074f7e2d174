//! What compute capability 9.0 adds between threads, for clusters of one block: elections, barriers in two steps,
//! addresses of other blocks.

mod common;

use common::{Device, Params, launch};
use ptx_sim::{Config, FaultKind};

fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry test(.param .u64 x)\n{{\n.reg .pred %p<4>;\n\
         .reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.shared .align 8 .b8 buffer[1024];\nld.param.u64 %rd0, [x];\n\
         mov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\ncvt.u64.u32 %rd1, %r1;\nadd.u64 %rd1, %rd0, %rd1;\n\
         mov.u32 %r2, buffer;\nadd.u32 %r3, %r2, %r1;\n{body}\nret;\n}}\n"
    )
}

#[track_caller]
fn gives(body: &str, threads: u32, expected: impl Fn(u32) -> u32) {
    for seed in std::iter::once(None).chain((0..16).map(Some)) {
        let mut device = Device::with(Config { seed, ..Config::default() }, &kernel(body));
        let x = device.upload(&vec![0u32; threads as usize]);
        device.launch("test", launch(1, threads), Params::new().add(x));
        let expected: Vec<u32> = (0..threads).map(&expected).collect();
        assert_eq!(device.download::<u32>(x, threads as usize), expected, "seed {seed:?}");
    }
}

#[test]
fn one_lane_is_elected() {
    let store = "selp.u32 %r5, 100, 0, %p1;\nadd.u32 %r5, %r5, %r4;\nst.global.u32 [%rd1], %r5;\n";
    gives(&format!("elect.sync %r4|%p1, -1;\n{store}"), 32, |lane| if lane == 0 { 100 } else { 0 });
    // Of those who take part, also where they come by different ways.
    let parts = "setp.lt.u32 %p2, %r0, 8;\n@%p2 bra OUT;\nsetp.lt.u32 %p3, %r0, 20;\n@%p3 bra ELSE;\n\
                 elect.sync %r4|%p1, 0xffffff00;\nbra JOIN;\nELSE:\nelect.sync %r4|%p1, 0xffffff00;\nJOIN:\n";
    gives(&format!("{parts}{store}OUT:\n"), 32, |lane| if lane < 8 { 0 } else { 8 + if lane == 8 { 100 } else { 0 } });
}

#[test]
fn a_barrier_in_two_steps() {
    // Between the steps a thread may do what concerns nobody else.
    let body = "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nROUND:\nadd.u32 %r4, %r0, %r6;\nst.shared.u32 [%r3], %r4;\n\
                barrier.cluster.arrive.release.aligned;\nadd.u32 %r6, %r6, 1;\nbarrier.cluster.wait.acquire.aligned;\n\
                xor.b32 %r5, %r1, 128;\nadd.u32 %r5, %r2, %r5;\nld.shared.u32 %r8, [%r5];\nadd.u32 %r7, %r7, %r8;\n\
                barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nsetp.lt.u32 %p1, %r6, 3;\n\
                @%p1 bra ROUND;\nst.global.u32 [%rd1], %r7;\n";
    gives(body, 128, |i| 3 * (i ^ 32) + 3);
}

#[test]
fn the_own_block_is_the_only_one() {
    let body = "mov.u32 %r4, %cluster_ctarank;\nmapa.shared::cluster.u32 %r5, %r3, %r4;\nst.shared.u32 [%r5], %r0;\n\
                getctarank.shared::cluster.u32 %r6, %r5;\nmov.u32 %r7, %cluster_nctarank;\nld.shared.u32 %r8, [%r3];\n\
                shl.b32 %r7, %r7, 8;\nadd.u32 %r8, %r8, %r7;\nadd.u32 %r8, %r8, %r6;\nst.global.u32 [%rd1], %r8;\n";
    gives(body, 64, |i| i + 256);
    let mut device = Device::new(&kernel("mapa.shared::cluster.u32 %r5, %r3, 1;\n"));
    let x = device.upload(&[0u32; 32]);
    let fault = device.try_launch("test", launch(1, 32), Params::new().add(x)).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::BadOperand(text) if text.contains("block 1")), "{fault}");
}
