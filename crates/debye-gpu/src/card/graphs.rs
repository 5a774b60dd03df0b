//! [`Graphs`]: what streams record, and what is replayed of it.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{self, cudaError_enum as Status};

use super::devices::accept;
use crate::driver::Handle;
use crate::error::CudaError;

/// Graphs of a card, and those that are being recorded behind a condition. The context must be current.
#[derive(Default)]
pub(super) struct Graphs {
    recorded: HashMap<Handle, Recorded>,
    /// By stream: the graph around what it records.
    around: HashMap<Handle, Conditional>,
}

/// What a graph was made of, and the streams that have been asked to replay it.
struct Recorded {
    template: sys::CUgraph,
    streams: Vec<Handle>,
}

/// A graph of a kernel that decides, and of what it decides about.
struct Conditional {
    graph: sys::CUgraph,
    context: sys::CUcontext,
    condition: sys::CUgraphConditionalHandle,
}

// SAFETY: the driver's functions may be called from any thread.
unsafe impl Send for Graphs {}

// Relaxed: memory may be allocated on the way.
const MODE: sys::CUstreamCaptureMode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;

impl Graphs {
    pub(super) fn begin(stream: Handle) -> Result<(), CudaError> {
        // SAFETY: the stream is alive.
        accept("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream as sys::CUstream, MODE)
        })
    }

    /// Begins to record the kernel that decides; `None` where the driver has no conditions.
    pub(super) fn begin_condition(
        &mut self,
        stream: Handle,
        context: sys::CUcontext,
    ) -> Result<Option<u64>, CudaError> {
        if !has_conditions() {
            return Ok(None);
        }
        let mut graph: sys::CUgraph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        accept("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) })?;
        let mut condition = 0;
        let flags = sys::CU_GRAPH_COND_ASSIGN_DEFAULT;
        // SAFETY: the graph was made above.
        let created = accept("cuGraphConditionalHandleCreate", unsafe {
            sys::cuGraphConditionalHandleCreate(&mut condition, graph, context, 0, flags)
        });
        let begun = created.and_then(|()| record_to(stream, graph));
        if let Err(error) = begun {
            // SAFETY: it was made above, and nobody else knows it.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
            return Err(error);
        }
        let around = Conditional {
            graph,
            context,
            condition,
        };
        self.around.insert(stream, around);
        Ok(Some(condition))
    }

    /// What the stream records from now on is done where the condition holds.
    pub(super) fn begin_conditional(&mut self, stream: Handle) -> Result<(), CudaError> {
        let Some(Conditional {
            graph,
            context,
            condition,
        }) = self.around.get(&stream)
        else {
            return Ok(());
        };
        let (mut same, mut node, mut nodes) = (ptr::null_mut(), ptr::null_mut(), 1);
        // SAFETY: numbers, pointers that may be null, and enumerations that have a zero.
        let mut params: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
        params.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle: *condition,
            type_: sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
            size: 1,
            phGraph_out: ptr::null_mut(),
            ctx: *context,
        };
        // SAFETY: stream and graph are alive, the graph has one node, that of the kernel, and all pointers are valid.
        let body = unsafe {
            accept(
                "cuStreamEndCapture",
                sys::cuStreamEndCapture(stream as sys::CUstream, &mut same),
            )?;
            accept(
                "cuGraphGetNodes",
                sys::cuGraphGetNodes(*graph, &mut node, &mut nodes),
            )?;
            let mut made = ptr::null_mut();
            accept(
                "cuGraphAddNode",
                sys::cuGraphAddNode(&mut made, *graph, &node, nodes, &mut params),
            )?;
            *params.__bindgen_anon_1.conditional.phGraph_out
        };
        record_to(stream, body)
    }

    pub(super) fn end(&mut self, stream: Handle) -> Result<Handle, CudaError> {
        let mut template: sys::CUgraph = ptr::null_mut();
        // SAFETY: the stream is alive, the pointer valid for the call.
        let ended = accept("cuStreamEndCapture", unsafe {
            sys::cuStreamEndCapture(stream as sys::CUstream, &mut template)
        });
        if let Some(around) = self.around.remove(&stream) {
            template = around.graph;
        }
        let mut executable: sys::CUgraphExec = ptr::null_mut();
        let made = ended.and_then(|()| {
            // SAFETY: the graph was made above.
            accept("cuGraphInstantiateWithFlags", unsafe {
                sys::cuGraphInstantiateWithFlags(&mut executable, template, 0)
            })
        });
        if let Err(error) = made {
            // SAFETY: nobody else knows it; none is null.
            let _ = unsafe { sys::cuGraphDestroy(template) };
            return Err(error);
        }
        let recorded = Recorded {
            template,
            streams: Vec::new(),
        };
        self.recorded.insert(executable as Handle, recorded);
        Ok(executable as Handle)
    }

    /// The stream is about to replay the graph.
    pub(super) fn note_replay(&mut self, graph: Handle, stream: Handle) {
        if let Some(recorded) = self.recorded.get_mut(&graph)
            && !recorded.streams.contains(&stream)
        {
            recorded.streams.push(stream);
        }
    }

    /// A graph that still runs must not lose its memory, which may be freed next; nor may its streams end meanwhile.
    pub(super) fn remove(&mut self, graph: Handle) {
        let Some(recorded) = self.recorded.remove(&graph) else {
            return;
        };
        recorded.streams.into_iter().for_each(synchronize);
        // SAFETY: both were made by `end` and are destroyed once.
        unsafe {
            let _ = sys::cuGraphExecDestroy(graph as sys::CUgraphExec);
            let _ = sys::cuGraphDestroy(recorded.template);
        }
    }

    /// The stream ends.
    pub(super) fn forget_stream(&mut self, stream: Handle) {
        for graph in self.recorded.values_mut() {
            graph.streams.retain(|&other| other != stream);
        }
    }
}

fn record_to(stream: Handle, graph: sys::CUgraph) -> Result<(), CudaError> {
    let none = ptr::null();
    // SAFETY: stream and graph are alive.
    accept("cuStreamBeginCaptureToGraph", unsafe {
        sys::cuStreamBeginCaptureToGraph(stream as sys::CUstream, graph, none, ptr::null(), 0, MODE)
    })
}

/// Whether the driver has graphs with conditions (since CUDA 12.4).
fn has_conditions() -> bool {
    let names: [&[u8]; 3] = [
        b"cuGraphConditionalHandleCreate\0",
        b"cuStreamBeginCaptureToGraph\0",
        b"cuGraphAddNode\0",
    ];
    // SAFETY: only asks whether the driver has the function; the bindings would panic without it.
    let has = |name: &&[u8]| unsafe { sys::culib().get::<*const c_void>(*name).is_ok() };
    names.iter().all(has)
}

/// Waits for a stream that is to be done with something. Not for the whole device, which would spoil what other threads
/// are capturing; nor for a stream that is captured, whose work of before is waited for where memory is freed.
pub(super) fn synchronize(stream: Handle) {
    let stream = stream as sys::CUstream;
    let mut state = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, the pointer valid for the call. Nothing can be done where waiting fails: the device is lost.
    unsafe {
        let known = sys::cuStreamIsCapturing(stream, &mut state) == Status::CUDA_SUCCESS;
        if known && state == sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE {
            let _ = sys::cuStreamSynchronize(stream);
        }
    }
}
