//! Memory, parameters, collectives, atomics, graphs.

use super::{Extent, Place, Wrong};
use debye_gpu::primitives::{self, Pieces, Turns};
use debye_gpu::{Const, CudaError, Header, ModuleSource, Mut, Shape, Stream};

pub(super) fn source() -> ModuleSource {
    ModuleSource::new("basics.cu", include_str!("kernels/basics.cu")).include(
        "numbers.cuh",
        &Header::new(&["prelude.cuh"]).define::<Numbers>().text(),
    )
}

debye_gpu::device_struct! {
    /// Passed by value, as a structure.
    struct Numbers {
        factor: u32,
        half: f32,
        third: f64,
    }
}

pub(super) fn memory(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for n in place.lengths() {
        let values: Vec<u32> = (0..n as u32).map(|i| i ^ 0xabcd).collect();
        let buffer = device.upload(&values)?;
        place.expect("upload", &stream.download(&buffer)?, &values)?;
        let mut other = device.zeros::<u32>(n)?;
        let middle = n / 3..n - n / 3;
        stream.copy(buffer.part(middle.clone()), other.part_mut(middle.clone()))?;
        let mut want = vec![0; n];
        want[middle.clone()].copy_from_slice(&values[middle.clone()]);
        place.expect("copy of a part", &stream.download(&other)?, &want)?;
        stream.fill(other.part_mut(middle.clone()), 0x5a)?;
        want[middle].fill(0x5a5a_5a5a);
        place.expect("fill", &stream.download(&other)?, &want)?;
    }
    let all = device.memory()?;
    let refused = device.allocate::<u64>(all.total).err();
    let explained = matches!(refused, Some(CudaError::OutOfMemory { total, .. }) if total == all.total);
    place.expect("asking for too much is refused", &[explained], &[true])?;
    let held = device.allocate::<u8>(1 << 20)?;
    let less = device.memory()?.free <= all.free;
    drop(held);
    place.expect("memory in use is counted", &[less], &[true])
}

pub(super) fn parameters(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let module = device.module(&source())?;
    let kernel = module.kernel::<(Mut<u32>, Mut<f32>, Mut<f64>, Numbers, u32)>("debye_parameters")?;
    let weights = [10_u32, 20, 30, 40];
    module.set(&stream, "debye_weights", &weights)?;
    let n = 1000_u32;
    let mut whole = device.zeros::<u32>(n as usize)?;
    let mut single = device.zeros::<f32>(n as usize)?;
    let mut double = device.zeros::<f64>(n as usize)?;
    let numbers = Numbers {
        factor: 7,
        half: 0.5,
        third: 1.0 / 3.0,
    };
    let outputs = (whole.all_mut(), single.all_mut(), double.all_mut(), numbers, n);
    kernel.launch(&stream, Shape::covering(n as usize, 128), outputs)?;
    let range = 0..n;
    let want: Vec<u32> = range.clone().map(|i| i * 7 + weights[i as usize % 4]).collect();
    place.expect("u32", &stream.download(&whole)?, &want)?;
    let want: Vec<f32> = range.clone().map(|i| i as f32 * 0.5).collect();
    place.expect("f32", &stream.download(&single)?, &want)?;
    let want: Vec<f64> = range.map(|i| f64::from(i) * (1.0 / 3.0)).collect();
    place.expect("f64", &stream.download(&double)?, &want)?;

    let wrong = module.kernel::<(Mut<u32>, Mut<f32>, Mut<f64>, u32, u32)>("debye_parameters");
    let refused = matches!(wrong, Err(CudaError::Signature { .. }));
    // Drivers before CUDA 12.4 do not tell what a kernel takes.
    if device.info().emulated {
        place.expect("wrong parameters are refused", &[refused], &[true])?;
    }
    let too_many = kernel.launch(
        &stream,
        Shape::new(1, 160),
        (whole.all_mut(), single.all_mut(), double.all_mut(), numbers, n),
    );
    let refused = matches!(too_many, Err(CudaError::Shape { .. }));
    place.expect("too large a block is refused", &[refused], &[true])?;
    let missing = module.kernel::<(Mut<u32>,)>("debye_no_such_kernel").is_err();
    place.expect("a kernel that is not there is refused", &[missing], &[true])
}

pub(super) fn collectives(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let kernel = device
        .module(&source())?
        .kernel::<(Const<u32>, Mut<u32>)>("debye_collectives")?;
    for blocks in [1_usize, 2, 7] {
        let n = blocks * 256;
        let input: Vec<u32> = (0..n).map(|_| place.random.below(1200) as u32).collect();
        let mut out = device.zeros::<u32>(n * 8)?;
        let arguments = (device.upload(&input)?, out.all_mut());
        kernel.launch(
            &stream,
            Shape::new(blocks as u32, 256),
            (arguments.0.all(), arguments.1),
        )?;
        let mut want = Vec::new();
        for (i, &x) in input.iter().enumerate() {
            let (warp, lane) = (&input[i / 32 * 32..][..32], i % 32);
            let block = &input[i / 256 * 256..][..256];
            let votes = |test: &dyn Fn(u32) -> bool| {
                let lanes = warp.iter().enumerate().filter(|(_, y)| test(**y));
                lanes.fold(0_u32, |mask, (l, _)| mask | 1 << l)
            };
            want.push(warp[lane ^ 5]);
            want.push(if lane < 3 { x } else { warp[lane - 3] });
            want.push(if lane % 8 + 2 < 8 { warp[lane + 2] } else { x });
            want.push(votes(&|y| y & 1 == 1));
            want.push(votes(&|y| y % 3 == x % 3));
            want.push(warp.iter().sum());
            want.push(if lane < 16 {
                let partners = [8, 4, 2, 1].map(|step| warp[lane ^ step]);
                partners.into_iter().max().unwrap_or(0)
            } else {
                let half = &warp[16..];
                u32::from(half.contains(&7)) + 2 * u32::from(half.iter().all(|&y| y < 1000))
            });
            want.push(block.iter().filter(|&&y| y % 5 == 0).count() as u32);
        }
        place.expect("collectives", &stream.download(&out)?, &want)?;
    }
    Ok(())
}

pub(super) fn shared(place: &mut Place<'_>) -> Result<(), Wrong> {
    type Parameters = (Const<u32>, Mut<u32>, Mut<u32>, Mut<u64>, Mut<u32>, Mut<f32>);
    let device = place.device;
    let stream = device.stream()?;
    let kernel = device.module(&source())?.kernel::<Parameters>("debye_shared")?;
    // What is allowed for one launch stays allowed when another asks for less.
    kernel.resident_blocks(256, 64 * 1024)?;
    kernel.resident_blocks(256, 4)?;
    for (blocks, shared) in [(1_usize, 256 * 4), (2, 64 * 1024), (5, 256 * 4)] {
        let n = blocks * 256;
        let input: Vec<u32> = (0..n).map(|_| place.random.next() as u32).collect();
        let from = device.upload(&input)?;
        let mut out = device.zeros::<u32>(n)?;
        let mut counts = device.zeros::<u32>(8)?;
        let (mut sum, mut most) = (device.zeros::<u64>(1)?, device.zeros::<u32>(1)?);
        let mut float_sum = device.zeros::<f32>(1)?;
        kernel.launch(
            &stream,
            Shape::new(blocks as u32, 256).shared(shared),
            (
                from.all(),
                out.all_mut(),
                counts.all_mut(),
                sum.all_mut(),
                most.all_mut(),
                float_sum.all_mut(),
            ),
        )?;
        let want: Vec<u32> = input
            .chunks(256)
            .flat_map(|block| block.iter().rev().copied())
            .collect();
        place.expect("reversed", &stream.download(&out)?, &want)?;
        let mut want = [0_u32; 8];
        for x in &input {
            want[*x as usize % 8] += 1;
        }
        place.expect("counts", &stream.download(&counts)?, &want)?;
        let want = input.iter().map(|&x| u64::from(x) << 20).sum();
        place.expect("64-bit sum", &stream.download(&sum)?, &[want])?;
        let want = input.iter().copied().max().unwrap_or(0);
        place.expect("largest", &stream.download(&most)?, &[want])?;
        place.expect("float sum", &stream.download(&float_sum)?, &[n as f32 * 0.25])?;
    }
    Ok(())
}

pub(super) fn meeting(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let kernel = device
        .module(&source())?
        .kernel::<(Mut<u64>, Mut<u32>, u32)>("debye_meeting")?;
    let blocks = kernel
        .resident_blocks(64, 0)?
        .min(2 * device.info().multiprocessors);
    let rounds = 5;
    let mut arrived = device.zeros::<u64>(1)?;
    let mut seen = device.zeros::<u32>((blocks * rounds) as usize)?;
    kernel.launch(
        &stream,
        Shape::new(blocks, 64).cooperative(),
        (arrived.all_mut(), seen.all_mut(), rounds),
    )?;
    let seen = stream.download(&seen)?;
    // Others may already have come to the next round, but nobody further.
    let early = |(i, &count): (usize, &u32)| {
        let round = i as u32 / blocks + 1;
        count < round || count > round + 1
    };
    let wrong = seen.iter().enumerate().any(early);
    place.expect("nobody goes on alone", &[wrong], &[false])
}

pub(super) fn graphs(place: &mut Place<'_>) -> Result<(), Wrong> {
    type Parameters = (Const<u32>, Mut<u32>, Mut<u32>, Mut<u64>, Mut<u32>, Mut<f32>);
    let device = place.device;
    let stream = device.stream()?;
    let kernel = device.module(&source())?.kernel::<Parameters>("debye_shared")?;
    let input: Vec<u32> = (0..512).collect();
    let from = device.upload(&input)?;
    let mut out = device.zeros::<u32>(512)?;
    let mut counts = device.zeros::<u32>(8)?;
    let (mut sum, mut most) = (device.zeros::<u64>(1)?, device.zeros::<u32>(1)?);
    let mut float_sum = device.zeros::<f32>(1)?;
    let mut back = device.zeros::<u32>(512)?;
    let mut total = device.zeros::<u64>(1)?;
    let graph = stream.capture(|stream| {
        stream.fill(counts.all_mut(), 0)?;
        kernel.launch(
            stream,
            Shape::new(2, 256).shared(1024),
            (
                from.all(),
                out.all_mut(),
                counts.all_mut(),
                sum.all_mut(),
                most.all_mut(),
                float_sum.all_mut(),
            ),
        )?;
        stream.copy(out.all(), back.all_mut())
    })?;
    let replays = if place.extent == Extent::Full { 1000 } else { 5 };
    place.expect("nothing runs while it is captured", &stream.download(&sum)?, &[0])?;
    let seconds = stream.time(&graph, replays)?;
    let once: u64 = input.iter().map(|&x| u64::from(x) << 20).sum();
    let want = once * u64::from(replays);
    place.expect("every replay counts", &stream.download(&sum)?, &[want])?;
    place.expect("clearing is part of it", &stream.download(&counts)?, &[64; 8])?;
    place.expect("so are copies", &stream.download(&back)?, &stream.download(&out)?)?;
    place.expect("time passes", &[seconds > 0.0], &[true])?;
    let refused = stream.capture(|stream| stream.download(&out).map(drop));
    let refused = matches!(refused, Err(CudaError::NotCapturable { .. }));
    place.expect("what cannot be captured is refused", &[refused], &[true])?;
    // The stream is usable afterwards.
    stream.replay(&graph)?;
    place.expect("and then all is well", &stream.download(&sum)?, &[want + once])?;
    // A graph that has just been replayed ends while another is captured, as where threads share a device.
    let other = device.stream()?;
    other.replay(&graph)?;
    let last = stream.capture(|stream| {
        drop(graph);
        stream.copy(sum.all(), total.all_mut())
    })?;
    stream.replay(&last)?;
    place.expect(
        "graphs come and go",
        &stream.download(&total)?,
        &[want + 2 * once],
    )?;
    let decide = device
        .module(&source())?
        .kernel::<(Const<u32>, u64)>("debye_decide")?;
    let mut word = device.upload(&[0_u32])?;
    let both = Shape::new(1, 32);
    let sometimes = stream.capture_if(
        |stream, condition| decide.launch(stream, both, (word.all(), condition)),
        |stream| {
            other.wait_for(stream)?;
            other.fill(counts.all_mut(), 1)?;
            stream.fill(back.all_mut(), 1)?;
            stream.wait_for(&other)
        },
    )?;
    for holds in [0, 1, 0] {
        stream.upload(&[holds], word.all_mut())?;
        stream.fill(counts.all_mut(), 0)?;
        stream.fill(back.all_mut(), 0)?;
        stream.replay(&sometimes)?;
        let want = 0x0101_0101 * holds;
        place.expect("a condition decides", &stream.download(&back)?, &[want; 512])?;
        place.expect("also beside it", &stream.download(&counts)?, &[want; 8])?;
    }
    let refused = stream.capture_if(|_, _| Err(CudaError::NotCapturable { what: "this" }), |_| Ok(()));
    let refused = matches!(refused, Err(CudaError::NotCapturable { what: "this" }));
    place.expect("what goes wrong before is told", &[refused], &[true])?;
    stream.replay(&last)?;
    stream.synchronize().map_err(Wrong::from)
}

/// Pieces of any length, which a word chooses when the device comes to them; memory that is used again.
pub(super) fn collecting(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let mut earlier = None;
    for n in place.lengths().into_iter().filter(|&n| n > 0) {
        let numbers: Vec<u32> = (0..2 * n).map(|_| place.random.next() as u32).collect();
        let doubles: Vec<f64> = numbers.iter().map(|&x| f64::from(x)).collect();
        let (halves, whole) = (device.upload(&numbers)?, device.upload(&doubles)?);
        let mut words = device.zeros::<u32>(3)?;
        let mut pieces = Pieces::default();
        let half = pieces.add_which(&halves, n, (&words, 4));
        let part = pieces.add(whole.part(1..n));
        let last = pieces.add(halves.part(2 * n - 1..2 * n));
        let collection = pieces.collection(device)?;
        let first = collection.queue(&stream, earlier.take())?;
        stream.upload(&[7_u32, 1, 7], words.all_mut())?;
        let second = collection.queue(&stream, None)?;
        place.expect("the first half", &first.read(half)?, &numbers[..n])?;
        place.expect("the second half", &second.read(half)?, &numbers[n..])?;
        for collected in [&first, &second] {
            place.expect("a part", &collected.read(part)?, &doubles[1..n])?;
            place.expect(
                "its beginning",
                &collected.read_first(part, 2)?,
                &doubles[1..n.min(3)],
            )?;
            place.expect("what follows", &collected.read(last)?, &numbers[2 * n - 1..])?;
        }
        place.expect("it is there", &[second.is_there()?], &[true])?;
        earlier = Some(first);
        cleared(place, &stream, n)?;
    }
    Ok(())
}

/// Memory that is copied by turns has nothing of those who had it before.
fn cleared(place: &mut Place<'_>, stream: &Stream, n: usize) -> Result<(), Wrong> {
    drop(place.device.upload(&vec![u64::MAX; 2 * n])?);
    let Some(mut turns) = Turns::new(place.device, size_of::<u64>() * n)? else {
        return Ok(());
    };
    for turn in 0..2 {
        let begin = turns.begin(stream)?;
        place.expect("where a turn begins", &[begin], &[turn * size_of::<u64>() * n])?;
        let copied = turns.queue(stream, size_of::<u64>() * n, None)?;
        place.expect(
            "a turn",
            &copied.read(primitives::Place::new(0, n))?,
            &vec![0_u64; n],
        )?;
    }
    Ok(())
}
