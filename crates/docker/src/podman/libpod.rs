//! Podman's own API (libpod), for what Docker's does not have: pods, bridges' names, the stacks of rootless containers.
//!
//! Source: <https://docs.podman.io/en/latest/_static/api.html>. A refusal is a JSON object with the field `message`.

use crate::address::EngineAddress;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::io;
use std::time::Duration;
use tare_network::scaled_timeout;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Version of the API: that of Podman 4.0, which later ones speak as well.
const PREFIX: &str = "/v4.0.0/libpod";

/// Timeout of a request. Removing a pod waits for the end of its containers.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Request of Podman's own API.
#[derive(Clone, Debug)]
pub(crate) struct LibpodRequest {
    method: Method,
    path: String,
    body: Option<Value>,
}

/// Reason why a request of Podman's own API was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LibpodRefusal {
    /// The object of the request does not exist.
    NotFound,
    /// Podman's own words, or the connection's.
    Refused(String),
}

impl LibpodRefusal {
    /// Returns the reason in words.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Self::NotFound => "Podman has no such object".to_owned(),
            Self::Refused(reason) => reason,
        }
    }
}

impl From<io::Error> for LibpodRefusal {
    fn from(error: io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<hyper::Error> for LibpodRefusal {
    fn from(error: hyper::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl LibpodRequest {
    /// Asks for an object: `/info`.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }

    /// Asks to make something of a description.
    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, path: path.into(), body: Some(body) }
    }

    /// Asks to remove an object.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, path: path.into(), body: None }
    }

    /// Sends the request over a connection of its own, and returns the answer. An answer without a body is null.
    ///
    /// # Errors
    /// Podman does not answer or refuses, or is reached in another way than by a socket or plain TCP.
    pub(crate) async fn send(self, address: &EngineAddress) -> Result<Value, LibpodRefusal> {
        let limit = scaled_timeout(REQUEST_TIMEOUT);
        let answer = tokio::time::timeout(limit, self.send_to(address)).await;
        answer.unwrap_or_else(|_| Err(LibpodRefusal::Refused("Podman does not answer".to_owned())))
    }

    async fn send_to(self, address: &EngineAddress) -> Result<Value, LibpodRefusal> {
        match address {
            EngineAddress::Unix(path) => self.send_over(UnixStream::connect(path).await?).await,
            EngineAddress::Tcp(host) => self.send_over(TcpStream::connect(host).await?).await,
            EngineAddress::Tls(..) | EngineAddress::Ssh(_) => Err(LibpodRefusal::Refused(format!(
                "tare speaks Podman's own API over unix:///PATH and tcp://HOST:PORT, not over {address}"
            ))),
        }
    }

    async fn send_over(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Value, LibpodRefusal> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let exchange = async move {
            let answer = sender.send_request(self.into_http()?).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?.to_bytes();
            read_answer(status, &body)
        };
        // The connection moves the bytes of the exchange, and ends with it.
        let connection = std::pin::pin!(connection);
        let exchange = std::pin::pin!(exchange);
        match futures_util::future::select(exchange, connection).await {
            futures_util::future::Either::Left((answer, _)) => answer,
            futures_util::future::Either::Right((ended, exchange)) => {
                ended?;
                exchange.await
            }
        }
    }

    fn into_http(self) -> Result<Request<Full<Bytes>>, LibpodRefusal> {
        let request = Request::builder()
            .method(self.method)
            .uri(format!("{PREFIX}{}", self.path))
            .header("Host", "podman")
            .header("Content-Type", "application/json");
        let body = self.body.map(|body| body.to_string()).unwrap_or_default();
        request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| LibpodRefusal::Refused(error.to_string()))
    }
}

fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, LibpodRefusal> {
    let json = serde_json::from_slice(body).unwrap_or(Value::Null);
    if status.is_success() {
        return Ok(json);
    }
    if status == StatusCode::NOT_FOUND {
        return Err(LibpodRefusal::NotFound);
    }
    let message = json["message"].as_str().map(str::to_owned);
    let words = message.unwrap_or_else(|| format!("Podman answered {status}"));
    Err(LibpodRefusal::Refused(words.split_whitespace().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// Sends a request to a stand-in that answers with these bytes. Returns the first line that it received, and the
    /// answer.
    fn exchange(
        request: LibpodRequest,
        answer: &'static str,
    ) -> (String, Result<Value, LibpodRefusal>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(4096);
            let served = async move {
                let mut bytes = vec![0; 4096];
                let count = far.read(&mut bytes).await.unwrap();
                far.write_all(answer.as_bytes()).await.unwrap();
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                text.lines().next().unwrap_or_default().to_owned()
            };
            futures_util::future::join(served, request.send_over(near)).await
        })
    }

    #[test]
    fn an_answer_is_read_and_a_refusal_is_told_in_podmans_words() {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}";
        let (line, answer) = exchange(LibpodRequest::get("/info"), answer);
        assert_eq!(line, "GET /v4.0.0/libpod/info HTTP/1.1");
        assert_eq!(answer, Ok(json!({"a": 1})));
        let body = r#"{"cause":"x","message":"no\n such pod","response":500}"#;
        let refused = read_answer(StatusCode::INTERNAL_SERVER_ERROR, body.as_bytes());
        assert_eq!(refused, Err(LibpodRefusal::Refused("no such pod".to_owned())));
        let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let (line, answer) = exchange(LibpodRequest::delete("/pods/p?force=true"), answer);
        assert_eq!(line, "DELETE /v4.0.0/libpod/pods/p?force=true HTTP/1.1");
        assert_eq!(answer, Err(LibpodRefusal::NotFound));
        assert_eq!(read_answer(StatusCode::NO_CONTENT, b""), Ok(Value::Null));
    }

    #[test]
    fn a_connection_that_ends_early_is_an_error() {
        let (_, answer) = exchange(LibpodRequest::post("/pods/create", json!({})), "HTTP/1.1 200");
        assert!(matches!(answer, Err(LibpodRefusal::Refused(_))), "{answer:?}");
    }
}
