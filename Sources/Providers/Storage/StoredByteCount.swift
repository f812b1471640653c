package import Values

extension JSONValue {
    /// The estimated memory of this JSON value in bytes: its strings, plus a fixed cost for each
    /// node.
    package var storedByteCount: Int {
        let nodeByteCount = 48
        switch self {
        case .null, .bool, .number: return nodeByteCount
        case .string(let text): return nodeByteCount + text.utf8.count
        case .array(let values): return values.reduce(nodeByteCount) { $0 + $1.storedByteCount }
        case .object(let object):
            return object.members.reduce(nodeByteCount) {
                $0 + 16 + $1.key.utf8.count + $1.value.storedByteCount
            }
        }
    }
}
