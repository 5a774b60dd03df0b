//! Opening files, compressed or not.
//!
//! The first bytes of a file say how it is compressed, whatever its name is. Everything is unpacked
//! as it is read: no more than the decoder's window is in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::error::IoError;

/// Bytes read from the file, and unpacked, at a time.
const BUFFER: usize = 1 << 16;
/// Memory the decoders of xz and zstd may take for their window, in KiB: `xz -9` needs 64 MiB, `zstd
/// --ultra -22` 128 MiB.
const WINDOW_KIB: u32 = 256 << 10;
/// Extensions that may follow that of a format.
pub(crate) const EXTENSIONS: [&str; 6] = ["gz", "bz2", "xz", "zst", "zstd", "gzip"];

/// A path without the extension of a compression.
pub(crate) fn without_compression(path: &Path) -> &Path {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let packed = EXTENSIONS.iter().any(|e| e.eq_ignore_ascii_case(extension));
    match path.file_stem() {
        Some(stem) if packed => Path::new(stem),
        _ => path,
    }
}

/// Opens a file and unpacks it where it is compressed; also gives the name for messages.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn BufRead + Send>, String), IoError> {
    let label = path.display().to_string();
    let open = || unpack(BufReader::with_capacity(BUFFER, File::open(path)?));
    match open() {
        Ok(source) => Ok((source, label)),
        Err(source) => Err(IoError::Io { file: label, source }),
    }
}

/// The bytes of `source`, unpacked if it begins as a gzip, bzip2, xz or zstd file does.
///
/// A compressed file that ends too early gives all that can be unpacked, and then an error of kind
/// [`io::ErrorKind::UnexpectedEof`].
///
/// # Errors
/// Those of reading the first bytes.
pub fn unpack<'s>(mut source: impl BufRead + Send + 's) -> io::Result<Box<dyn BufRead + Send + 's>> {
    let start = source.fill_buf()?;
    let begins = |magic: &[u8]| start.starts_with(magic);
    let (gzip, xz, zstd) = (
        begins(&[0x1f, 0x8b]),
        begins(b"\xfd7zXZ\0"),
        begins(&[0x28, 0xb5, 0x2f, 0xfd]),
    );
    // The letters alone may be a title; the magic number of the first block follows them.
    let bzip2 = begins(b"BZh") && start.get(4..10) == Some(&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]);
    let source = Watched { source, ended: false };
    let decoder: Box<dyn Decoder + Send + 's> = if gzip {
        Box::new(flate2::bufread::MultiGzDecoder::new(source))
    } else if bzip2 {
        Box::new(bzip2::bufread::MultiBzDecoder::new(source))
    } else if xz {
        Box::new(lzma_rust2::XzReader::new_mem_limit(source, true, WINDOW_KIB))
    } else if zstd {
        Box::new(Zstd::new(source))
    } else {
        return Ok(Box::new(source.source));
    };
    Ok(Box::new(BufReader::with_capacity(
        BUFFER,
        Unpacked {
            decoder,
            failed: false,
        },
    )))
}

/// A source that remembers whether its end has been seen.
struct Watched<R> {
    source: R,
    ended: bool,
}

impl<R: BufRead> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.ended |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Watched<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let buffer = self.source.fill_buf()?;
        self.ended |= buffer.is_empty();
        Ok(buffer)
    }

    fn consume(&mut self, count: usize) {
        self.source.consume(count);
    }
}

/// A decoder that can tell whether its input is at its end.
trait Decoder: Read {
    fn input_ended(&self) -> bool;
}

impl<R: BufRead> Decoder for flate2::bufread::MultiGzDecoder<Watched<R>> {
    fn input_ended(&self) -> bool {
        self.get_ref().ended
    }
}

impl<R: BufRead> Decoder for bzip2::bufread::MultiBzDecoder<Watched<R>> {
    fn input_ended(&self) -> bool {
        self.get_ref().ended
    }
}

impl<R: BufRead> Decoder for lzma_rust2::XzReader<Watched<R>> {
    fn input_ended(&self) -> bool {
        self.inner().ended
    }
}

/// What a decoder gives, with errors that say what they are.
struct Unpacked<'s> {
    decoder: Box<dyn Decoder + Send + 's>,
    failed: bool,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failed {
            return Ok(0);
        }
        self.decoder.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            // A decoder must not be asked again after an error.
            self.failed = true;
            if self.decoder.input_ended() {
                let message = "the compressed file ends too early";
                return io::Error::new(io::ErrorKind::UnexpectedEof, message);
            }
            io::Error::new(io::ErrorKind::InvalidData, format!("cannot be unpacked: {error}"))
        })
    }
}

/// The frames of a zstd file, one after the other.
struct Zstd<R> {
    source: Watched<R>,
    decoder: FrameDecoder,
    inside: bool,
    /// An error to tell once what was unpacked before it has been read.
    pending: Option<io::Error>,
}

/// An empty last block and a checksum: closes a frame, so that its decoder gives back the window.
const CLOSING: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: BufRead> Zstd<R> {
    fn new(source: Watched<R>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::from(WINDOW_KIB) << 10);
        Zstd {
            source,
            decoder,
            inside: false,
            pending: None,
        }
    }

    /// Compares the checksum of a frame that has one.
    fn check_sum(&self) -> io::Result<()> {
        match (
            self.decoder.get_checksum_from_data(),
            self.decoder.get_calculated_checksum(),
        ) {
            (Some(written), Some(found)) if written != found => {
                Err(io::Error::other("the checksum of a zstd frame does not match"))
            }
            _ => Ok(()),
        }
    }

    /// Opens the next frame; `false` at the end of the file. Frames of other content are skipped.
    fn open_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside && !self.open_frame()? {
                return Ok(0);
            }
            self.inside = true;
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            if self.decoder.is_finished() {
                self.check_sum()?;
                self.inside = false;
            } else if let Err(error) = self.decoder.decode_blocks(&mut self.source, UptoBlocks(1)) {
                let error = io::Error::other(error);
                if self.decoder.decode_blocks(&CLOSING[..], UptoBlocks(1)).is_err() {
                    return Err(error);
                }
                self.pending = Some(error);
            }
        }
    }
}

impl<R: BufRead> Decoder for Zstd<R> {
    fn input_ended(&self) -> bool {
        self.source.ended
    }
}
