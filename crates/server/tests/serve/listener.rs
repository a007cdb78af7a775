//! A listener made of another implementation of WebSocket.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};
use warpsmith_server::protocol::{Continuity, FrameHead, Kind, SUBPROTOCOL};

pub(crate) struct Listener {
    pub(crate) socket: WebSocket<TcpStream>,
    pub(crate) seen: Continuity,
    pub(crate) welcome: Value,
    /// Samples of audio frames.
    pub(crate) payload: Vec<u8>,
    /// Text messages other than the welcome.
    pub(crate) messages: Vec<Value>,
    pub(crate) boundaries: Vec<u64>,
}

impl Listener {
    /// Connects, and says nothing yet.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
        let name = SUBPROTOCOL.parse().unwrap();
        request.headers_mut().insert("Sec-WebSocket-Protocol", name);
        let (socket, answer) = tungstenite::client(request, stream).unwrap();
        assert_eq!(answer.headers()["Sec-WebSocket-Protocol"], SUBPROTOCOL);
        Self {
            socket,
            seen: Continuity::default(),
            welcome: Value::Null,
            payload: Vec::new(),
            messages: Vec::new(),
            boundaries: Vec::new(),
        }
    }

    /// Connects and says hello.
    pub(crate) fn hello(address: SocketAddr, hello: Value) -> Self {
        let mut listener = Self::connect(address);
        listener.say_hello(hello);
        listener
    }

    pub(crate) fn say_hello(&mut self, mut hello: Value) {
        hello["type"] = json!("hello");
        self.say(&hello);
        while self.welcome.is_null() {
            self.take_one();
        }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
    }

    pub(crate) fn credit(&mut self, played: u64) {
        self.say(&json!({ "type": "credit", "played": played }));
    }

    /// Takes one message; the closing code at the end.
    pub(crate) fn take_one(&mut self) -> Option<u16> {
        match self.socket.read() {
            Ok(Message::Binary(frame)) => {
                let (head, payload) = FrameHead::parse(&frame).unwrap();
                self.seen.take(&head, payload);
                match head.kind {
                    Kind::Audio => self.payload.extend_from_slice(payload),
                    Kind::Boundary => self.boundaries.push(head.first),
                    Kind::Gap => {}
                }
                None
            }
            Ok(Message::Text(text)) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                match message["type"].as_str() {
                    Some("welcome") => self.welcome = message,
                    _ => self.messages.push(message),
                }
                None
            }
            Ok(Message::Close(frame)) => Some(frame.map_or(1005, |frame| frame.code.into())),
            Ok(_) => None,
            Err(tungstenite::Error::ConnectionClosed) => Some(1006),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn received(&self) -> u64 {
        self.seen.next.unwrap_or(0)
    }

    /// Takes what comes until `position` has arrived, giving credit for everything.
    pub(crate) fn play_until(&mut self, position: u64) {
        while self.received() < position {
            let before = self.received();
            assert_eq!(self.take_one(), None, "closed at {before}");
            if self.received() > before && self.received() < position {
                self.credit(self.received());
            }
        }
    }

    /// Takes what comes until `position` has arrived, without giving credit.
    pub(crate) fn take_until(&mut self, position: u64) {
        while self.received() < position {
            assert_eq!(self.take_one(), None, "closed at {}", self.received());
        }
    }

    /// Takes messages until one of this type has come.
    pub(crate) fn message(&mut self, kind: &str) -> Value {
        loop {
            if let Some(index) = self
                .messages
                .iter()
                .position(|message| message["type"] == kind)
            {
                return self.messages.remove(index);
            }
            assert_eq!(self.take_one(), None, "closed before `{kind}`");
        }
    }

    /// Takes everything until the server closes; gives the code.
    pub(crate) fn closing_code(&mut self) -> u16 {
        loop {
            if let Some(code) = self.take_one() {
                return code;
            }
        }
    }

    /// The code of the finding that comes.
    pub(crate) fn finding(&mut self) -> String {
        let message = self.message("error");
        message["finding"]["code"].as_str().unwrap().to_owned()
    }
}
