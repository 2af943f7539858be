//! Blocking connection to a Redis, for loading data.

use super::handshake::{Access, Handshake};
use loadcell_core::error::{Failure, LoadError};

use loadcell_protocols::resp::{Reader, Token, refusal};
use loadcell_transport::{Address, BlockingTransport};

pub type ConnectOptions = loadcell_transport::ConnectOptions<Access>;

pub struct Connection<'a> {
    transport: BlockingTransport<'a>,
    reader: Reader,
    /// Commands without a reply.
    pending: usize,
}

impl<'a> Connection<'a> {
    pub fn connect(options: &'a ConnectOptions) -> Result<Self, LoadError> {
        options.connect(|address| Self::open(options, address))
    }

    fn open(options: &'a ConnectOptions, address: &Address) -> Result<Self, Failure> {
        let deadline = options.deadline();
        let mut transport = BlockingTransport::connect(address, &options.stop, deadline)?;
        if options.config.tls {
            transport = transport.secure(options.endpoint.tls.as_ref(), deadline)?.0;
        }
        let mut connection = Self { transport, reader: Reader::default(), pending: 0 };
        let mut handshake = Handshake::new(options.config.clone());
        let (mut ready, mut out) = (false, Vec::new());
        handshake.begin(&mut out);
        while !ready {
            connection.transport.send(&out, Some(deadline))?;
            out.clear();
            connection.transport.receive(Some(deadline))?;
            connection.read_tokens(|token, ends| {
                ready = handshake.on_token(token, ends, &mut out)?;
                Ok(())
            })?;
        }
        Ok(connection)
    }

    /// Send `commands` commands.
    pub fn send(&mut self, bytes: &[u8], commands: usize) -> Result<(), Failure> {
        self.pending += commands;
        self.transport.send(bytes, None)
    }

    /// Wait until at most `commands` commands are without a reply. Fails with the first error reply.
    pub fn settle(&mut self, commands: usize) -> Result<(), Failure> {
        while self.pending > commands {
            self.transport.receive(None)?;
            let mut replies = 0;
            self.read_tokens(|token, ends| {
                replies += usize::from(ends);
                match token {
                    Token::Error(error) => Err(refusal(error)),
                    _ => Ok(()),
                }
            })?;
            self.pending = self.pending.saturating_sub(replies);
        }
        Ok(())
    }

    /// Pass each complete token of the input to `on_token`, and whether a reply ends with it.
    fn read_tokens(
        &mut self,
        mut on_token: impl FnMut(Token<'_>, bool) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let input = &mut self.transport.input;
        let mut at = 0;
        while let Some(read) = self.reader.next(&input[at..], 0)? {
            at += read.size;
            if read.token != Token::Nothing {
                on_token(read.token, read.ends)?;
            }
        }
        input.drain(..at);
        Ok(())
    }
}
