internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1
internal import NIOHTTPCompression

/// Looks through a content encoding, for what is judged or written down; on the wire bytes stay as
/// they are.
package enum BodyDecoding {
    /// The reason why a body has no plain bytes.
    package enum Failure: Error {
        /// The content encoding is not gzip or deflate.
        case unknownEncoding
        /// The packed bytes are not what the encoding says.
        case broken
        /// The plain bytes are more than the bound.
        case tooLong
    }

    /// Packed bytes that are unpacked at a time: these become at most about a thousand times as many.
    private static let pieceMax = 4096

    /// The plain bytes; nil when the encoding is unknown, broken, or unpacks to too much.
    package static func plain(_ bytes: [UInt8], encoding: String?, max: Int) -> [UInt8]? {
        do throws(Failure) {
            return try decoded(bytes, encoding: encoding, max: max).bytes
        } catch {
            return nil
        }
    }

    /// The plain bytes, unpacked piece by piece: no more than `max` of them are ever held.
    ///
    /// - Parameters:
    ///   - bytes: The body as it was sent.
    ///   - encoding: The value of `Content-Encoding`.
    ///   - max: The bound of what a packed body unpacks to, in bytes.
    /// - Returns: The plain bytes, and whether they were packed.
    /// - Throws: The reason why there are no plain bytes.
    package static func decoded(
        _ bytes: [UInt8],
        encoding: String?,
        max: Int
    ) throws(Failure) -> (bytes: [UInt8], wasPacked: Bool) {
        let name = encoding?.lowercased().filter { !$0.isWhitespace } ?? ""
        if name.isEmpty || name == "identity" || bytes.isEmpty { return (bytes, false) }
        guard name == "gzip" || name == "deflate" else { throw .unknownEncoding }
        do {
            return (try inflated(bytes, name, max), true)
        } catch NIOHTTPDecompression.DecompressionError.limit {
            throw .tooLong
        } catch {
            throw .broken
        }
    }

    private static func inflated(
        _ bytes: [UInt8],
        _ encoding: String,
        _ max: Int
    ) throws -> [UInt8] {
        let channel = EmbeddedChannel(
            handler: NIOHTTPResponseDecompressor(limit: .size(max))
        )
        // The error that counts was thrown before: closing adds none.
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        var head = HTTPResponseHead(version: .http1_1, status: .ok)
        head.headers.add(name: "content-encoding", value: encoding)
        head.headers.add(name: "content-length", value: String(bytes.count))
        try channel.writeOutbound(
            HTTPClientRequestPart.head(
                HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
            )
        )
        try channel.writeInbound(HTTPClientResponsePart.head(head))
        var plain: [UInt8] = []
        func drain() throws {
            while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
                if case .body(let buffer) = part { plain += buffer.readableBytesView }
            }
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = ByteBuffer(bytes: rest.prefix(pieceMax))
            rest = rest.dropFirst(pieceMax)
            try channel.writeInbound(HTTPClientResponsePart.body(piece))
            try drain()
        }
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        try drain()
        return plain
    }
}
