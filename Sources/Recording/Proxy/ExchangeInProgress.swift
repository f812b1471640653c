internal import NIOHTTP1
internal import Values

/// A request that is in progress, and its response so far.
struct ExchangeInProgress {
    let head: HTTPRequestHead
    var request: CapturedBody
    var response: CapturedBody
    var responseHead: HTTPResponseHead?
    /// The number of the exchange in the journal; nil before the request is written to the
    /// journal.
    var sequence: Int?
    /// Whether the request was written to the journal before its body was complete.
    var isBodyRecordedLater = false
    /// Parts of the request that have not been forwarded yet.
    ///
    /// A request with a short body is held until it is complete, then written to the journal
    /// and forwarded.
    var heldParts: [HTTPClientRequestPart] = []
    var isRequestComplete = false

    /// The headers and the body of the request, as the journal contains them.
    var recordedRequestBody: (fields: [HTTPMessage.Field], body: [UInt8]) {
        request.result(Self.fields(head.headers))
    }

    /// Returns the request for the journal.
    ///
    /// An incomplete body is not written to the journal, because it could not be parsed. It follows
    /// later.
    mutating func takeRequest() -> HTTPMessage.Request {
        var (fields, body) = recordedRequestBody
        if !isRequestComplete {
            isBodyRecordedLater = true
            (fields, body) = (Self.fields(head.headers) + [CapturedBody.deferredBodyField], [])
        }
        return HTTPMessage.Request(head.method.rawValue, head.uri, fields: fields, body: body)
    }

    /// Returns the response for the journal.
    func recordedResponse(_ head: HTTPResponseHead) -> HTTPMessage.Response {
        let (fields, body) = response.result(Self.fields(head.headers))
        return HTTPMessage.Response(Int(head.status.code), fields: fields, body: body)
    }

    private static func fields(_ headers: HTTPHeaders) -> [HTTPMessage.Field] {
        headers.map { HTTPMessage.Field($0.name, $0.value) }
    }
}
