internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1
internal import NIOHTTPCompression

/// Looks through a content encoding, for what is judged or written down; on the wire bytes stay as
/// they are.
package enum BodyDecoding {
    /// The plain bytes; nil when the encoding is unknown, broken, or unpacks to too much.
    package static func plain(_ bytes: [UInt8], encoding: String?, max: Int) -> [UInt8]? {
        let name = encoding?.lowercased().filter { !$0.isWhitespace } ?? ""
        if name.isEmpty || name == "identity" || bytes.isEmpty { return bytes }
        guard name == "gzip" || name == "deflate" else { return nil }
        let channel = EmbeddedChannel(
            handler: NIOHTTPResponseDecompressor(limit: .size(max))
        )
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        do {
            var head = HTTPResponseHead(version: .http1_1, status: .ok)
            head.headers.add(name: "content-encoding", value: name)
            head.headers.add(name: "content-length", value: String(bytes.count))
            try channel.writeOutbound(
                HTTPClientRequestPart.head(
                    HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
                )
            )
            try channel.writeInbound(HTTPClientResponsePart.head(head))
            try channel.writeInbound(HTTPClientResponsePart.body(ByteBuffer(bytes: bytes)))
            try channel.writeInbound(HTTPClientResponsePart.end(nil))
            var plain: [UInt8] = []
            while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
                if case .body(let buffer) = part { plain += buffer.readableBytesView }
            }
            return plain
        } catch {
            return nil
        }
    }
}
