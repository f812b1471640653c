internal import Values

/// The status code of a response in a recording: three digits (RFC 9110, section 15).
///
/// The reader of recordings and every importer of other formats use this type. So no importer
/// writes a status that the reader refuses.
struct RecordedStatus: Hashable, Sendable {
    /// The status codes that a recording can hold.
    static let allowedCodes: ClosedRange<Int64> = 100...999
    /// The status 200 of an accepted request.
    static let ok = RecordedStatus(code: 200)

    let code: Int

    /// Creates a status from its code; nil when the code is not between 100 and 999.
    init?(_ number: Int64) {
        guard Self.allowedCodes.contains(number) else { return nil }
        code = Int(number)
    }

    private init(code: Int) { self.code = code }
}

/// An HTTP response that a recording can hold, because its status is valid.
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
