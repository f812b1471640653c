internal import Conformance

/// The status code of a response in a recording: three digits (RFC 9110, section 15).
///
/// The reader and every importer take a status only as this type, so that no importer writes a
/// status that the reader refuses.
struct RecordedStatus: Hashable, Sendable {
    /// The codes that a recording can hold.
    static let range: ClosedRange<Int64> = 100...999
    /// The status of an accepted request.
    static let ok = RecordedStatus(code: 200)

    let code: Int

    /// The status of that number; nil outside of the range.
    init?(_ number: Int64) {
        guard Self.range.contains(number) else { return nil }
        code = Int(number)
    }

    private init(code: Int) { self.code = code }
}

/// A response that a recording can hold.
struct RecordedResponse: Hashable, Sendable {
    let status: RecordedStatus
    let fields: [HTTPMessage.Field]
    let body: [UInt8]

    init(_ status: RecordedStatus, fields: [HTTPMessage.Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
