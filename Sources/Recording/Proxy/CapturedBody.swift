internal import NIOCore
internal import Providers
internal import Values

/// The recorder's copy of an HTTP body or WebSocket message that it forwards.
///
/// Up to a maximum length the bytes are kept; a longer body is only counted and hashed.
struct CapturedBody {
    /// The name of an internal header that marks a body that was too long to keep.
    ///
    /// The value of the header is `<bytes> <digest>`. The header is never sent over the network.
    static let omittedField = ":assay-omitted"
    /// An internal header that marks a request whose body is written to the journal later.
    ///
    /// The header is never sent over the network.
    static let deferredBodyField = HTTPMessage.Field(":assay-later", "1")

    private let max: Int
    private var keptBytes: [UInt8] = []
    private(set) var count = 0
    private var digest: Digest.Stream?

    init(max: Int) {
        self.max = max
    }

    mutating func append(_ buffer: ByteBuffer) {
        count += buffer.readableBytes
        if digest == nil, count > max {
            var stream = Digest.Stream()
            stream.update(keptBytes)
            keptBytes = []
            digest = stream
        }
        if digest == nil {
            keptBytes += buffer.readableBytesView
        } else {
            digest?.update(buffer.readableBytesView)
        }
    }

    /// Returns the header fields and the body for the journal.
    ///
    /// A body that was too long becomes a single zero byte, and an internal header that marks it is
    /// added.
    func result(_ fields: [HTTPMessage.Field]) -> (fields: [HTTPMessage.Field], body: [UInt8]) {
        guard let digest else { return (fields, keptBytes) }
        let omitted = HTTPMessage.Field(Self.omittedField, "\(count) \(digest.text)")
        return (fields + [omitted], [0])
    }
}
