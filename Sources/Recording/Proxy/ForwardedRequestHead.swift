internal import NIOHTTP1

/// The changes that the proxy makes to the head of a request before it forwards the request.
enum ForwardedRequestHead {
    /// Returns the head that the backend receives in place of the caller's head.
    static func head(
        _ head: HTTPRequestHead,
        to target: CapturingProxy.Target
    ) -> HTTPRequestHead {
        var forwardedHead = head
        if let host = target.hostField {
            forwardedHead.headers.replaceOrAdd(name: "Host", value: host)
        }
        if let acceptedEncodings = readableEncodings(head.headers) {
            forwardedHead.headers.replaceOrAdd(name: "Accept-Encoding", value: acceptedEncodings)
        }
        if head.uri.hasPrefix("/") { forwardedHead.uri = target.basePath + head.uri }
        if head.headers.contains(name: "upgrade") {
            removeUnreadableProtocols(&forwardedHead.headers)
        }
        return forwardedHead
    }

    /// Removes the headers that request a protocol which the proxy cannot record.
    ///
    /// A WebSocket is requested without compression, so that its messages can be read. An upgrade
    /// to another protocol is not requested, because the proxy cannot read that protocol (RFC 9110,
    /// section 7.8).
    private static func removeUnreadableProtocols(_ headers: inout HTTPHeaders) {
        if headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }) {
            headers.remove(name: "Sec-WebSocket-Extensions")
        } else {
            for name in ["Upgrade", "HTTP2-Settings", "Connection"] { headers.remove(name: name) }
        }
    }

    /// Returns the value of `Accept-Encoding` without the encodings that the proxy cannot decode
    /// (RFC 9110, section 12.5.3); nil when the proxy can decode all encodings.
    private static func readableEncodings(_ headers: HTTPHeaders) -> String? {
        let acceptedEncodings = headers[canonicalForm: "accept-encoding"]
        let isReadableEncoding = { (item: Substring) in
            let name = item.prefix { $0 != ";" && $0 != " " }.lowercased()
            return ["gzip", "x-gzip", "deflate", "identity", ""].contains(name)
        }
        guard acceptedEncodings.contains(where: { !isReadableEncoding($0) }) else { return nil }
        let keptEncodings = acceptedEncodings.filter(isReadableEncoding)
        return keptEncodings.isEmpty ? "identity" : keptEncodings.joined(separator: ", ")
    }
}
