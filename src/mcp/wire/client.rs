//! The HTTP client of [`http`](super::http), for servers that refuse a request without saying which one.
//!
//! Many servers answer a session that they forgot with status 400 and an error without an id. The request would never
//! end. Here the error gets the id of its request, and a forgotten session is recognized, so that rmcp begins a new one.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

type Headers = HashMap<HeaderName, HeaderValue>;
type Posted = Result<StreamableHttpPostResponse, StreamableHttpError<reqwest::Error>>;
type Stream =
    Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<reqwest::Error>>;

#[derive(Debug, Clone)]
pub struct Client(pub reqwest::Client);

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Posted {
        let (id, has_session) = (id(&message), session_id.is_some());
        let posted = self
            .0
            .post_message(uri, message, session_id, auth_header, custom_headers);
        attributed(posted.await, id, has_session)
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Posted {
        let (id, has_session) = (id(&message), session_id.is_some());
        let posted = self.0.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            max_sse_event_size,
        );
        attributed(posted.await, id, has_session)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), StreamableHttpError<reqwest::Error>> {
        self.0
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Stream {
        self.0
            .get_stream(uri, session_id, last_event_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Stream {
        self.0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await
    }
}

fn id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        JsonRpcMessage::Response(_)
        | JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Error(_) => None,
    }
}

fn attributed(posted: Posted, id: Option<RequestId>, has_session: bool) -> Posted {
    match posted {
        Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session))
            if error.id.is_none() =>
        {
            let words = error.error.message.to_lowercase();
            if has_session && words.contains("session") {
                return Err(StreamableHttpError::SessionExpired);
            }
            error.id = id;
            let error = JsonRpcMessage::Error(error);
            Ok(StreamableHttpPostResponse::Json(error, session))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorData;

    use super::*;

    /// What becomes of an error without an id that answers request 7.
    fn answered(message: &'static str, has_session: bool) -> String {
        let error = ErrorData::invalid_request(message, None);
        let error = JsonRpcMessage::error(error, None);
        let posted = Ok(StreamableHttpPostResponse::Json(error, None));
        match attributed(posted, Some(RequestId::Number(7)), has_session) {
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _)) => {
                format!("error of request {:?}", error.id)
            }
            Ok(_) => "something else".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_error_without_an_id_belongs_to_the_request_that_was_sent() {
        let of_request = format!("error of request {:?}", Some(RequestId::Number(7)));
        assert_eq!(answered("bad input", true), of_request);
        assert_eq!(answered("No valid session ID", false), of_request);
    }

    #[test]
    fn a_session_that_the_server_forgot_is_recognized_by_its_words() {
        let forgotten = answered("Bad Request: No valid session ID provided", true);
        assert_eq!(forgotten, "Session expired (HTTP 404)");
    }
}
