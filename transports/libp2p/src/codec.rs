//! Codec of requests and responses: each is the content of one stream up to its end.

use std::io;

use async_trait::async_trait;
use libp2p::StreamProtocol;
use libp2p::futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p::request_response;

/// Protocol name for version 1 of the message format.
pub(crate) const PROTOCOL: StreamProtocol = StreamProtocol::new("/typeloom/wire/1");

/// Maximum size of a receipt in bytes.
const RECEIPT: usize = 1 << 13;

#[derive(Clone, Debug)]
pub(crate) struct Codec {
    /// Maximum size of a message in bytes.
    pub(crate) most: usize,
}

/// Reads up to the end of the stream. Buffers at most one byte more than the limit.
async fn read<T: AsyncRead + Unpin + Send>(io: &mut T, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io.take(most as u64 + 1).read_to_end(&mut bytes).await?;
    if bytes.len() > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {most} bytes")));
    }
    Ok(bytes)
}

#[async_trait]
impl request_response::Codec for Codec {
    type Protocol = StreamProtocol;
    type Request = Vec<u8>;
    type Response = Vec<u8>;

    async fn read_request<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io, self.most).await
    }

    async fn read_response<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io, RECEIPT).await
    }

    async fn write_request<T>(&mut self, _: &StreamProtocol, io: &mut T, request: Vec<u8>) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        io.write_all(&request).await
    }

    async fn write_response<T>(&mut self, _: &StreamProtocol, io: &mut T, response: Vec<u8>) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        io.write_all(&response).await
    }
}
