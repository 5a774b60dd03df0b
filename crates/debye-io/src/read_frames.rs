//! [`ReadFrames`]: frames one after the other.

use crate::error::IoError;
use crate::frame::Frame;

/// A source of frames.
///
/// After an error or the end a reader stays at its end, so that a loop over it always stops.
pub trait ReadFrames {
    /// The next frame, or `None` at the end of the file.
    ///
    /// # Errors
    /// Whatever is wrong with the file at this place; a frame cut short is [`IoError::Truncated`].
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError>;

    /// What was odd about the file so far without being wrong, each told once.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the line last read is the last of a text file and has no end, as a program leaves it
    /// that was stopped while it wrote.
    fn at_unfinished_line(&self) -> bool {
        false
    }
}

/// What a reader delivers, unless it is done; it is when it delivers nothing.
pub(crate) fn fused<S, T>(
    reader: &mut S,
    done: fn(&mut S) -> &mut bool,
    read: impl FnOnce(&mut S) -> Result<Option<T>, IoError>,
) -> Result<Option<T>, IoError> {
    if *done(reader) {
        return Ok(None);
    }
    let result = read(reader);
    *done(reader) = !matches!(result, Ok(Some(_)));
    result
}

/// The one frame of a format that has only one, with the warnings about its file.
pub(crate) struct Single(pub(crate) Option<Frame>, pub(crate) Vec<String>);

impl ReadFrames for Single {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        Ok(self.0.take())
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.1)
    }
}
