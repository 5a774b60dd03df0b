//! [`Graphs`]: what streams record, and what is replayed of it.

#![allow(unsafe_code)]

use std::collections::HashMap;
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
    pub(super) fn begin(&mut self, stream: Handle) -> Result<(), CudaError> {
        self.forget_capture(stream);
        // SAFETY: the stream is alive.
        accept("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream as sys::CUstream, MODE)
        })
    }

    /// Begins to record the kernel that decides; gives the number of the condition.
    pub(super) fn begin_condition(
        &mut self,
        stream: Handle,
        context: sys::CUcontext,
    ) -> Result<u64, CudaError> {
        self.forget_capture(stream);
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
        begun.inspect_err(|_| destroy(graph))?;
        let around = Conditional {
            graph,
            context,
            condition,
        };
        self.around.insert(stream, around);
        Ok(condition)
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
        let (mut same, mut node, mut nodes) = (ptr::null_mut(), ptr::null_mut(), 0);
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
        // SAFETY: stream and graph are alive, and all pointers are valid for the calls; none: the number of nodes.
        let body = unsafe {
            accept(
                "cuStreamEndCapture",
                sys::cuStreamEndCapture(stream as sys::CUstream, &mut same),
            )?;
            accept(
                "cuGraphGetNodes",
                sys::cuGraphGetNodes(*graph, ptr::null_mut(), &mut nodes),
            )?;
            if nodes != 1 {
                return Err(CudaError::Driver {
                    call: "cuGraphGetNodes",
                    reason: format!("{nodes} kernels decide about a graph; one must"),
                });
            }
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

    /// Ends what the stream records: the graph, which is not one of these yet.
    pub(super) fn end(&mut self, stream: Handle) -> Result<sys::CUgraph, CudaError> {
        let mut template: sys::CUgraph = ptr::null_mut();
        // SAFETY: the stream is alive, the pointer valid for the call.
        let ended = accept("cuStreamEndCapture", unsafe {
            sys::cuStreamEndCapture(stream as sys::CUstream, &mut template)
        });
        if let Some(around) = self.around.remove(&stream) {
            template = around.graph;
        }
        ended.inspect_err(|_| destroy(template)).map(|()| template)
    }

    /// Makes an executable graph, which takes long.
    pub(super) fn instantiate(template: sys::CUgraph) -> Result<Handle, CudaError> {
        let mut executable: sys::CUgraphExec = ptr::null_mut();
        // SAFETY: the graph was made by `end`, the pointer is valid for the call.
        let made = accept("cuGraphInstantiateWithFlags", unsafe {
            sys::cuGraphInstantiateWithFlags(&mut executable, template, 0)
        });
        made.inspect_err(|_| destroy(template))
            .map(|()| executable as Handle)
    }

    /// One more of these.
    pub(super) fn insert(&mut self, executable: Handle, template: sys::CUgraph) {
        let recorded = Recorded {
            template,
            streams: Vec::new(),
        };
        self.recorded.insert(executable, recorded);
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
        // SAFETY: it was made by `instantiate` and is destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(graph as sys::CUgraphExec) };
        destroy(recorded.template);
    }

    /// The stream ends.
    pub(super) fn forget_stream(&mut self, stream: Handle) {
        for graph in self.recorded.values_mut() {
            graph.streams.retain(|&other| other != stream);
        }
        self.forget_capture(stream);
    }

    /// What a capture left that never ended.
    fn forget_capture(&mut self, stream: Handle) {
        if let Some(around) = self.around.remove(&stream) {
            destroy(around.graph);
        }
    }
}

/// Destroys a graph that nobody else knows, if there is one.
fn destroy(graph: sys::CUgraph) {
    if !graph.is_null() {
        // SAFETY: the driver made it, and it is destroyed once.
        let _ = unsafe { sys::cuGraphDestroy(graph) };
    }
}

fn record_to(stream: Handle, graph: sys::CUgraph) -> Result<(), CudaError> {
    let none = ptr::null();
    // SAFETY: stream and graph are alive.
    accept("cuStreamBeginCaptureToGraph", unsafe {
        sys::cuStreamBeginCaptureToGraph(stream as sys::CUstream, graph, none, ptr::null(), 0, MODE)
    })
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
