internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1
internal import NIOHTTPCompression

/// Decodes bodies with a content encoding (gzip or deflate), for judging and for reports.
///
/// The bytes on the wire stay unchanged.
package enum BodyDecoding {
    /// The reason why a body cannot be decoded.
    package enum Failure: Error {
        /// The content encoding is not gzip or deflate.
        case unknownEncoding
        /// The body is not valid for the encoding that its `Content-Encoding` header declares.
        case corruptBody
        /// The decoded body exceeds the limit.
        case decodedBodyTooLarge
    }

    /// The number of encoded bytes that are decoded at a time.
    ///
    /// They decode to at most about a thousand times that size, which limits the memory that a
    /// malicious body can use.
    private static let chunkSizeMax = 4096

    /// Returns the decoded bytes of a body.
    ///
    /// Returns nil if the encoding is unknown, the body is broken, or the result is larger than
    /// `max`.
    package static func decodedBody(_ bytes: [UInt8], encoding: String?, max: Int) -> [UInt8]? {
        do throws(Failure) {
            return try decoded(bytes, encoding: encoding, max: max).bytes
        } catch {
            return nil
        }
    }

    /// Returns the decoded bytes of a body, and whether the body was encoded.
    ///
    /// Decodes the body in small parts, so that little more than `max` bytes are ever in memory.
    ///
    /// - Parameters:
    ///   - bytes: The body as it was sent.
    ///   - encoding: The value of the `Content-Encoding` header.
    ///   - max: The largest size of the decoded body, in bytes; it does not apply to a body without
    ///     an encoding.
    /// - Returns: The decoded bytes, and whether the body was encoded.
    /// - Throws: The reason why the body could not be decoded.
    package static func decoded(
        _ bytes: [UInt8],
        encoding: String?,
        max: Int
    ) throws(Failure) -> (bytes: [UInt8], wasCompressed: Bool) {
        let name = encoding?.lowercased().filter { !$0.isWhitespace } ?? ""
        if name.isEmpty || name == "identity" || bytes.isEmpty { return (bytes, false) }
        guard name == "gzip" || name == "deflate" else { throw .unknownEncoding }
        do {
            return (try decompressedBytes(bytes, name, max), true)
        } catch NIOHTTPDecompression.DecompressionError.limit {
            throw .decodedBodyTooLarge
        } catch {
            throw .corruptBody
        }
    }

    private static func decompressedBytes(
        _ bytes: [UInt8],
        _ encoding: String,
        _ max: Int
    ) throws -> [UInt8] {
        let channel = EmbeddedChannel(
            handler: NIOHTTPResponseDecompressor(limit: .size(max))
        )
        // Every relevant error has been thrown before, so an error of closing the channel is
        // ignored.
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
        var decodedBody: [UInt8] = []
        func readDecodedParts() throws {
            while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
                if case .body(let buffer) = part { decodedBody += buffer.readableBytesView }
            }
        }
        var remainingBytes = bytes[...]
        while !remainingBytes.isEmpty {
            let chunk = ByteBuffer(bytes: remainingBytes.prefix(chunkSizeMax))
            remainingBytes = remainingBytes.dropFirst(chunkSizeMax)
            try channel.writeInbound(HTTPClientResponsePart.body(chunk))
            try readDecodedParts()
        }
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        try readDecodedParts()
        return decodedBody
    }
}
