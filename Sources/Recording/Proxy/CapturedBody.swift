internal import Conformance
internal import NIOCore
internal import Providers

/// A body as it passes by: kept up to a bound, beyond it counted and digested.
struct CapturedBody {
    /// How a message says that its body was not kept: `<bytes> <digest>`; never on the wire.
    static let omittedField = ":assay-omitted"
    /// How an invocation says that its body is told later; never on the wire.
    static let laterField = HTTPMessage.Field(":assay-later", "1")

    private let max: Int
    private var kept: [UInt8] = []
    private(set) var count = 0
    private var digest: Digest.Stream?

    init(max: Int) {
        self.max = max
    }

    mutating func append(_ buffer: ByteBuffer) {
        count += buffer.readableBytes
        if digest == nil, count > max {
            var stream = Digest.Stream()
            stream.update(kept)
            kept = []
            digest = stream
        }
        if digest == nil {
            kept += buffer.readableBytesView
        } else {
            digest?.update(buffer.readableBytesView)
        }
    }

    /// The bytes; a single zero and the field that says so when they were too many.
    func result(_ fields: [HTTPMessage.Field]) -> (fields: [HTTPMessage.Field], body: [UInt8]) {
        guard let digest else { return (fields, kept) }
        let omitted = HTTPMessage.Field(Self.omittedField, "\(count) \(digest.text)")
        return (fields + [omitted], [0])
    }
}
